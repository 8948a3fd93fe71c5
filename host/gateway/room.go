package gateway

import "time"

// How long a session has to be unused to make room for another of its principal: one in
// which nothing goes on, and one whose client listens.
const (
	unusedTime   = 15 * time.Second
	unspokenTime = time.Minute
)

// roomLocked says whether a principal may have another session. A principal that has
// too many loses the one that it has not used for longest, if nothing goes on in that
// one: programs that end without a word leave such, and a flood of them is not to keep
// anybody out for long. Where there is none it loses one whose client only listens,
// which many do as long as they live.
func (g *Gateway) roomLocked(principal string, many bool) error {
	own := 0
	oldest := map[activity]*session{}
	since := map[activity]time.Time{}
	for _, s := range g.sessions {
		if s.client.Principal != principal {
			continue
		}
		own++
		used, does := s.doing()
		least := unusedTime
		if does == listening {
			least = unspokenTime
		}
		if does == working || g.now().Sub(used) <= least || s.client.Transport != TransportHTTP {
			continue
		}
		if oldest[does] == nil || used.Before(since[does]) {
			oldest[does], since[does] = s, used
		}
	}
	most := g.o.Limits.MaxSessions
	if many {
		most = (most + 1) / 2
	}
	if len(g.sessions) < g.o.Limits.MaxSessions && own < most {
		return nil
	}
	for _, does := range []activity{quiet, listening} {
		if s := oldest[does]; s != nil {
			g.forgetLocked(s)
			go s.end()
			return nil
		}
	}
	if own >= most && len(g.sessions) < g.o.Limits.MaxSessions {
		return errPrincipalFull
	}
	return ErrTooManySessions
}

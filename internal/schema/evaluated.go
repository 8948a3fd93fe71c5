package schema

// evaluated is what a subschema has looked at, for the unevaluated keywords. The zero value is empty; a nil receiver
// collects nothing.
type evaluated struct {
	allProps, allItems bool
	props              map[string]struct{}
	items              map[int]struct{}
}

func (ev *evaluated) merge(sub *evaluated) {
	if ev == nil || sub == nil {
		return
	}
	ev.allProps = ev.allProps || sub.allProps
	ev.allItems = ev.allItems || sub.allItems
	for p := range sub.props {
		ev.addProp(p)
	}
	for i := range sub.items {
		ev.addItem(i)
	}
}

func (ev *evaluated) addProp(name string) {
	if ev == nil {
		return
	}
	if ev.props == nil {
		ev.props = map[string]struct{}{}
	}
	ev.props[name] = struct{}{}
}

func (ev *evaluated) addItem(i int) {
	if ev == nil {
		return
	}
	if ev.items == nil {
		ev.items = map[int]struct{}{}
	}
	ev.items[i] = struct{}{}
}

func (ev *evaluated) hasProp(name string) bool {
	_, ok := ev.props[name]
	return ok || ev.allProps
}

func (ev *evaluated) hasItem(i int) bool {
	_, ok := ev.items[i]
	return ok || ev.allItems
}

func (e *evaluator) checkUnevaluated(n *node, v any, ev *evaluated) bool {
	switch v := v.(type) {
	case map[string]any:
		if n.object == nil || n.object.unevaluated == nil {
			return true
		}
		for name, item := range v {
			if !ev.hasProp(name) && !e.check(n.object.unevaluated, item, nil) {
				return false
			}
		}
		ev.allProps = true
	case []any:
		if n.array == nil || n.array.unevaluated == nil {
			return true
		}
		for i, item := range v {
			if !ev.hasItem(i) && !e.check(n.array.unevaluated, item, nil) {
				return false
			}
		}
		ev.allItems = true
	}
	return true
}

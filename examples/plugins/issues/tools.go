package main

import (
	"net/url"
	"strconv"
	"strings"
)

// Where names the repository; without it the configured one is meant.
type Where struct {
	Repository string `json:"repository,omitempty"`
}

// Issue is what cells see of an issue.
type Issue struct {
	Number    int      `json:"number"`
	Title     string   `json:"title"`
	State     string   `json:"state"`
	Body      string   `json:"body"`
	Labels    []string `json:"labels"`
	Assignees []string `json:"assignees"`
	Author    string   `json:"author"`
	Comments  int      `json:"comments"`
	URL       string   `json:"url"`
	CreatedAt string   `json:"createdAt"`
	UpdatedAt string   `json:"updatedAt"`
}

// wireIssue is what the server says of an issue.
type wireIssue struct {
	Number int     `json:"number"`
	Title  string  `json:"title"`
	State  string  `json:"state"`
	Body   *string `json:"body"`
	Labels []struct {
		Name string `json:"name"`
	} `json:"labels"`
	Assignees   []wireUser `json:"assignees"`
	User        *wireUser  `json:"user"`
	Comments    int        `json:"comments"`
	HTMLURL     string     `json:"html_url"`
	CreatedAt   string     `json:"created_at"`
	UpdatedAt   string     `json:"updated_at"`
	PullRequest *struct{}  `json:"pull_request"`
}

type wireUser struct {
	Login string `json:"login"`
}

func (u *wireUser) name() string {
	if u == nil {
		return "" // the account is gone
	}
	return u.Login
}

func (w *wireIssue) issue() Issue {
	i := Issue{Number: w.Number, Title: w.Title, State: w.State, Labels: []string{}, Assignees: []string{}, Author: w.User.name(),
		Comments: w.Comments, URL: w.HTMLURL, CreatedAt: w.CreatedAt, UpdatedAt: w.UpdatedAt}
	if w.Body != nil {
		i.Body = *w.Body
	}
	for _, l := range w.Labels {
		i.Labels = append(i.Labels, l.Name)
	}
	for _, u := range w.Assignees {
		i.Assignees = append(i.Assignees, u.Login)
	}
	return i
}

// ListInput is the input of issues_list.
type ListInput struct {
	Where
	State   string   `json:"state,omitempty"`
	Labels  []string `json:"labels,omitempty"`
	Page    int      `json:"page,omitempty"`
	PerPage int      `json:"perPage,omitempty"`
}

// ListResult is one page.
type ListResult struct {
	Issues []Issue `json:"issues"`
	Page   int     `json:"page"`
	More   bool    `json:"more"`
}

func list(in ListInput) (*ListResult, error) {
	in.Page, in.PerPage = max(in.Page, 1), min(max(in.PerPage, 0), 100)
	if in.PerPage == 0 {
		in.PerPage = 30
	}
	if in.State == "" {
		in.State = "open"
	}
	query := url.Values{"state": {in.State}, "page": {strconv.Itoa(in.Page)}, "per_page": {strconv.Itoa(in.PerPage)}}
	if len(in.Labels) > 0 {
		query.Set("labels", strings.Join(in.Labels, ","))
	}
	var found []wireIssue
	res, err := in.Where.send("GET", "/issues?"+query.Encode(), nil, &found)
	if err != nil {
		return nil, err
	}
	out := &ListResult{Issues: []Issue{}, Page: in.Page, More: strings.Contains(res.Headers["link"], `rel="next"`)}
	for i := range found {
		if found[i].PullRequest == nil { // the server lists those, too
			out.Issues = append(out.Issues, found[i].issue())
		}
	}
	return out, nil
}

// GetInput is the input of issues_get and issues_comments.
type GetInput struct {
	Where
	Number int `json:"number"`
}

func (in GetInput) path(rest string) string { return "/issues/" + strconv.Itoa(in.Number) + rest }

func get(in GetInput) (*Issue, error) {
	return in.Where.issue("GET", in.path(""), nil)
}

func (w Where) issue(method, path string, body any) (*Issue, error) {
	var found wireIssue
	if _, err := w.send(method, path, body, &found); err != nil {
		return nil, err
	}
	i := found.issue()
	return &i, nil
}

// Content is what can be written of an issue. What is left out stays as it is.
type Content struct {
	Title     *string   `json:"title,omitempty"`
	Body      *string   `json:"body,omitempty"`
	State     *string   `json:"state,omitempty"`
	Labels    *[]string `json:"labels,omitempty"`
	Assignees *[]string `json:"assignees,omitempty"`
}

// CreateInput is the input of issues_create.
type CreateInput struct {
	Where
	Title     string   `json:"title"`
	Body      string   `json:"body,omitempty"`
	Labels    []string `json:"labels,omitempty"`
	Assignees []string `json:"assignees,omitempty"`
}

func create(in CreateInput) (*Issue, error) {
	c := Content{Title: &in.Title, Body: &in.Body}
	if len(in.Labels) > 0 {
		c.Labels = &in.Labels
	}
	if len(in.Assignees) > 0 {
		c.Assignees = &in.Assignees
	}
	return in.Where.issue("POST", "/issues", c)
}

// UpdateInput is the input of issues_update.
type UpdateInput struct {
	GetInput
	Patch Content `json:"patch"`
}

func update(in UpdateInput) (*Issue, error) {
	return in.Where.issue("PATCH", in.path(""), in.Patch)
}

// CommentInput is the input of issues_comment.
type CommentInput struct {
	GetInput
	Body string `json:"body"`
}

// Comment is what cells see of a comment.
type Comment struct {
	ID        int64  `json:"id"`
	Author    string `json:"author"`
	Body      string `json:"body"`
	URL       string `json:"url"`
	CreatedAt string `json:"createdAt"`
}

type wireComment struct {
	ID        int64     `json:"id"`
	User      *wireUser `json:"user"`
	Body      string    `json:"body"`
	HTMLURL   string    `json:"html_url"`
	CreatedAt string    `json:"created_at"`
}

func (w *wireComment) comment() Comment {
	return Comment{ID: w.ID, Author: w.User.name(), Body: w.Body, URL: w.HTMLURL, CreatedAt: w.CreatedAt}
}

func comment(in CommentInput) (*Comment, error) {
	var made wireComment
	if _, err := in.Where.send("POST", in.path("/comments"), map[string]string{"body": in.Body}, &made); err != nil {
		return nil, err
	}
	c := made.comment()
	return &c, nil
}

// CommentsResult are the first hundred comments.
type CommentsResult struct {
	Comments []Comment `json:"comments"`
	More     bool      `json:"more"`
}

func comments(in GetInput) (*CommentsResult, error) {
	var found []wireComment
	res, err := in.Where.send("GET", in.path("/comments?per_page=100"), nil, &found)
	if err != nil {
		return nil, err
	}
	out := &CommentsResult{Comments: []Comment{}, More: strings.Contains(res.Headers["link"], `rel="next"`)}
	for i := range found {
		out.Comments = append(out.Comments, found[i].comment())
	}
	return out, nil
}

// Closes what nobody answered, and says so there. Needs a configured repository and a token; see README.md.
const { issues } = await Issues.list("open", { labels: ["needs-answer"], perPage: 100 });
const closed = [];
for (const issue of issues) {
  if (issue.comments > 0) continue;
  await Issues.comment(issue.number, "Closed, since nobody answered. Write here to open it again.");
  const after = await Issues.update(issue.number, { state: "closed" });
  closed.push({ number: after.number, title: after.title, state: after.state });
}
return { repository: Issues.repository, closed };

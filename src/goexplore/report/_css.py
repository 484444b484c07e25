"""The page's style: no fonts or files from elsewhere, light and dark, phone, desk and paper."""

CSS = """
:root { color-scheme: light dark; --ink: #1f2328; --muted: #59616c; --rule: #e2e5e9; --page: #f6f7f9; --card: #ffffff;
  --link: #00609a; --note: #fff6df; --code: #eef0f3; }
@media screen and (prefers-color-scheme: dark) { :root { --ink: #e8eaed; --muted: #a6aeb9; --rule: #323942;
  --page: #0f1216; --card: #171b21; --link: #6cb8ee; --note: #2d2613; --code: #232931; } }
* { box-sizing: border-box; }
html { -webkit-text-size-adjust: 100%; }
body { margin: 0; background: var(--page); color: var(--ink); font: 16px/1.55 system-ui, -apple-system, "Segoe UI",
  Roboto, "Helvetica Neue", Arial, sans-serif; }
main { max-width: 1120px; margin: 0 auto; padding: 1.5rem 1.25rem 4rem; }
h1 { font-size: 1.75rem; line-height: 1.2; margin: 0.5rem 0 0.25rem; }
h2 { font-size: 1.25rem; margin: 2.75rem 0 0.25rem; }
h3 { font-size: 1rem; margin: 1.25rem 0 0.25rem; }
p { margin: 0.4rem 0 0.9rem; max-width: 46rem; }
a { color: var(--link); }
.lead, .said, footer { color: var(--muted); }
.said { font-size: 0.93rem; }
nav { margin: 0.75rem 0 0; font-size: 0.93rem; display: flex; flex-wrap: wrap; gap: 0.25rem 1.1rem; }
.card { background: var(--card); border: 1px solid var(--rule); border-radius: 8px; padding: 0.75rem;
  margin: 0.75rem 0; }
.grid { display: grid; gap: 0.75rem; grid-template-columns: repeat(auto-fill, minmax(min(100%, 440px), 1fr)); }
.grid .card { margin: 0; }
figure { margin: 0; }
figure img { display: block; width: 100%; height: auto; }
figure.narrow img { min-width: 560px; max-width: 760px; margin: 0 auto; }
figcaption { color: var(--muted); font-size: 0.82rem; margin-top: 0.4rem; }
.scroll { overflow-x: auto; -webkit-overflow-scrolling: touch; }
.pan img { min-width: 860px; }
table { border-collapse: collapse; font-size: 0.85rem; font-variant-numeric: tabular-nums; width: 100%; }
th, td { padding: 0.35rem 0.45rem; text-align: right; border-bottom: 1px solid var(--rule); vertical-align: top; }
thead th { color: var(--muted); font-weight: 600; vertical-align: bottom; line-height: 1.3; }
thead tr.over th { border-bottom: none; padding-bottom: 0; text-align: left; color: var(--ink); }
tbody th { text-align: left; font-weight: 600; min-width: 8.5rem; overflow-wrap: anywhere;
  position: sticky; left: 0; background: var(--card); }
tbody th small, td small { display: block; color: var(--muted); font-weight: 400; }
td small { white-space: nowrap; }
td small.wrap { white-space: normal; }
.theirs { border-left: 1px solid var(--rule); }
.warnings { background: var(--note); }
.warnings ul { margin: 0.25rem 0; padding-left: 1.2rem; overflow-wrap: anywhere; }
details.card > summary { cursor: pointer; font-weight: 600; overflow-wrap: anywhere; }
details.card > summary span { color: var(--muted); font-weight: 400; }
dl { display: grid; grid-template-columns: repeat(auto-fill, minmax(150px, 1fr)); gap: 0.6rem 1rem; margin: 0.9rem 0; }
dl div { min-width: 0; }
dl div.wide { grid-column: 1 / -1; }
dt { color: var(--muted); font-size: 0.8rem; }
dd { margin: 0; overflow-wrap: anywhere; font-variant-numeric: tabular-nums; }
code { font: 0.86em ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; background: var(--code);
  padding: 0.12em 0.35em; border-radius: 4px; overflow-wrap: anywhere; }
video { display: block; width: 100%; max-width: 480px; border-radius: 6px; margin: 0.5rem 0; }
footer { margin-top: 3rem; border-top: 1px solid var(--rule); padding-top: 0.75rem; font-size: 0.85rem; }
@media (max-width: 560px) { main { padding: 1rem 0.8rem 3rem; } h1 { font-size: 1.4rem; } .card { padding: 0.55rem; } }
@media print { :root { --page: #fff; } body { font-size: 10pt; } main { max-width: none; padding: 0; }
  nav, video { display: none; } .card { break-inside: avoid; border-color: #ccc; } details.card { break-inside: auto; }
  .grid { grid-template-columns: 1fr 1fr; } .scroll { overflow: visible; } figure img { min-width: 0 !important; }
  table { font-size: 6.5pt; } th, td { padding: 0.15rem 0.25rem; } tbody th { position: static; min-width: 0; }
  details::details-content { content-visibility: visible; block-size: auto; } }
"""

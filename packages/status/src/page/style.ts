/**
 * The style sheet of the page: light and dark by the reader's preference, from 360 px to any width. All colours have
 * the contrast that WCAG 2.2 AA requires (1.4.3), which the page's test measures.
 */
export const STYLE = `
:root{color-scheme:light dark;--text:#1b1f24;--quiet:#525b66;--back:#fff;--raised:#f4f6f8;--line:#d3d9e0;
--good:#136229;--bad:#a3111c;--warn:#7a4a00;--accent:#0a539c;--boot:#8b95a1}
@media (prefers-color-scheme:dark){:root{--text:#e8ebee;--quiet:#a9b2bc;--back:#14171a;--raised:#1e2327;--line:#39414a;
--good:#6fd48a;--bad:#ff8d87;--warn:#edb55c;--accent:#7fb9f5;--boot:#79838e}}
*{box-sizing:border-box}
body{margin:0;background:var(--back);color:var(--text);font:16px/1.5 system-ui,sans-serif}
main,header,footer{max-width:72rem;margin:0 auto;padding:0 1rem;overflow-wrap:anywhere}
header{padding-top:1.5rem}
h1{font-size:1.5rem;line-height:1.25;margin:0 0 .25rem}
h2{font-size:1.125rem;margin:2rem 0 .5rem;border-bottom:1px solid var(--line);padding-bottom:.25rem}
p{margin:.5rem 0}
ul,ol{margin:.5rem 0;padding-left:1.25rem}
code,pre{font:.875rem/1.45 ui-monospace,monospace}
pre{margin:0;padding:.5rem .75rem;background:var(--raised);border-radius:4px;white-space:pre-wrap;overflow-wrap:anywhere}
figure{margin:.75rem 0}
figcaption,.quiet,footer{color:var(--quiet);font-size:.875rem}
footer{padding-bottom:2rem;margin-top:2rem}
.good{color:var(--good)}.bad{color:var(--bad)}.warn{color:var(--warn)}
.verdict{border-left:.375rem solid var(--quiet);background:var(--raised);padding:.75rem 1rem;border-radius:4px;margin:1rem 0}
.verdict.good{border-color:var(--good)}.verdict.bad{border-color:var(--bad)}.verdict.warn{border-color:var(--warn)}
.verdict p{color:var(--text)}
.state{font-weight:600}
.chart,.steps{list-style:none;padding:0}
.chart li{display:grid;grid-template-columns:minmax(0,1fr) auto;column-gap:.75rem;padding:.125rem 0}
.chart svg{grid-column:1/-1;grid-row:2;width:100%;height:.75rem;background:var(--raised);display:block}
.chart .span{fill:var(--accent)}.chart .boot{fill:var(--boot)}.chart .bad{fill:var(--bad)}.chart .cut{fill:var(--back)}
.steps li{border-bottom:1px solid var(--line);padding:.25rem 0}
.steps .row{display:flex;flex-wrap:wrap;column-gap:1rem;justify-content:space-between}
summary{cursor:pointer;color:var(--accent)}
dl{display:grid;grid-template-columns:minmax(0,1fr);margin:.5rem 0}
dt{color:var(--quiet);font-size:.875rem}dd{margin:0 0 .5rem}
@media (min-width:40rem){
.chart li{grid-template-columns:13rem minmax(0,1fr) 11rem;align-items:center}
.chart svg{grid-column:2;grid-row:1}.chart .time{text-align:right}
dl{grid-template-columns:13rem minmax(0,1fr);column-gap:.75rem}dt{font-size:1rem}dd{margin:0 0 .25rem}}
`;

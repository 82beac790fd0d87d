/**
 * How the server's pages look.
 *
 * @module
 */

/** One style sheet for all pages, light and dark. */
export const STYLE = `
:root {
  color-scheme: light dark;
  --text: light-dark(#1b1f24, #e6e8eb);
  --soft: light-dark(#57606a, #9aa4af);
  --line: light-dark(#d0d7de, #3a424c);
  --back: light-dark(#ffffff, #14171b);
  --code: light-dark(#f3f5f7, #1e2329);
  --link: light-dark(#0b57d0, #8ab4f8);
}
* { box-sizing: border-box; }
body {
  margin: 0 auto; padding: 2rem 1rem 4rem; max-width: 60rem;
  font: 1rem/1.5 system-ui, sans-serif; color: var(--text); background: var(--back);
}
h1, h2, h3 { line-height: 1.2; }
h2 { margin-top: 2.5rem; border-bottom: 1px solid var(--line); padding-bottom: .3rem; }
a { color: var(--link); }
p, dd { max-width: 46rem; }
code, pre { font: .9em/1.45 ui-monospace, monospace; background: var(--code); }
code { padding: .1em .3em; border-radius: .2rem; }
pre { padding: .8rem; overflow-x: auto; border-radius: .3rem; }
pre code { padding: 0; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; }
th, td { text-align: left; vertical-align: top; padding: .4rem .6rem; border-bottom: 1px solid var(--line); }
th { color: var(--soft); font-weight: 600; }
details { border-bottom: 1px solid var(--line); padding: .5rem 0; }
summary { cursor: pointer; }
.method { display: inline-block; min-width: 4.5rem; font-weight: 700; }
.soft { color: var(--soft); }
`

/**
 * The files of an entry of the package, one for each module format: what `exports` and `typesVersions` of
 * the manifest name, and what `scripts/bundle.mjs` writes.
 */

/**
 * What `exports` says of an entry, in the order in which conditions are tried.
 *
 * - `module`: bundlers. `import` and `require` give them the same file, so a bundle has one engine.
 * - `import` with `node`: Node, Bun and Deno. The file names each export again from the CommonJS file, so that
 *   a process has one engine.
 * - `import` without `node`: browsers and edge runtimes.
 * - `require`: CommonJS, and Jest.
 *
 * @param {string} name - path of the source below `src`, without its ending, such as `adapters/express`
 */
export function conditionsOf(name) {
  return {
    module: `./dist/esm/${name}.mjs`,
    import: {
      types: `./dist/${name}.d.mts`,
      node: `./dist/${name}.mjs`,
      default: `./dist/esm/${name}.mjs`,
    },
    require: { types: `./dist/${name}.d.ts`, default: `./dist/${name}.js` },
  }
}

/**
 * Where the compiler finds the types of an entry with `moduleResolution: node10`, which does not read `exports`.
 *
 * @param {string} name - as for {@link conditionsOf}
 */
export function typesVersionsOf(name) {
  return [`./dist/${name}.d.ts`]
}

/**
 * The source of an entry, as for {@link conditionsOf}; `undefined` for what is no module of the package.
 *
 * @param {unknown} target - what `exports` says of a subpath
 */
export function nameOf(target) {
  const file = typeof target === 'object' && target !== null ? target.require?.default : undefined
  return typeof file === 'string' ? file.replace(/^\.\/dist\//, '').replace(/\.js$/, '') : undefined
}

/**
 * The `{@link}`s of doc comments, and whether the names in them are known where they stand.
 *
 * @module
 */

import { readFileSync } from 'node:fs'
import { relative } from 'node:path'
import ts from 'typescript'

/** What was found in some files. */
export interface DocLinks {
  /** How many links the compiler saw. */
  readonly count: number
  /** Those that lead nowhere, each with its file. */
  readonly dead: readonly string[]
}

/** Resolves every `{@link}` in some files, as an editor does. */
export function docLinksIn(root: string, files: readonly string[]): DocLinks {
  const linking = files.filter((file) => readFileSync(file, 'utf8').includes('{@link'))
  // Names are resolved, and nothing is checked: neither the library nor the rest of the types is needed.
  const program = ts.createProgram(linking, {
    module: ts.ModuleKind.NodeNext,
    moduleResolution: ts.ModuleResolutionKind.NodeNext,
    ...{ noLib: true, types: [], noEmit: true, allowImportingTsExtensions: true },
  })
  const checker = program.getTypeChecker()
  const dead: string[] = []
  let count = 0
  for (const file of linking) {
    const source = program.getSourceFile(file)
    if (source === undefined) throw new Error(`${file} can not be read.`)
    for (const link of linksOf(source)) {
      count += 1
      const isKnown = link.name !== undefined && checker.getSymbolAtLocation(link.name)
      if (!isKnown) dead.push(`${relative(root, file)}: ${link.getText(source)}`)
    }
  }
  return { count, dead }
}

function linksOf(source: ts.SourceFile): readonly ts.JSDocLink[] {
  const found = new Set<ts.JSDocLink>()
  const read = (node: ts.JSDoc | ts.JSDocTag) => {
    if (typeof node.comment === 'string') return
    for (const part of node.comment ?? []) if (ts.isJSDocLink(part)) found.add(part)
  }
  const visit = (node: ts.Node): void => {
    for (const doc of ts.getJSDocCommentsAndTags(node)) {
      if (ts.isJSDoc(doc)) for (const part of [doc, ...(doc.tags ?? [])]) read(part)
    }
    ts.forEachChild(node, visit)
  }
  visit(source)
  return [...found]
}

/** How esbuild writes the exports of a module in CommonJS: two closures and two accessors for each export. */
const EXPORTS = /__export\(stdin_exports,\{(.*?)\}\);module\.exports=__toCommonJS\(stdin_exports\);/s;
const EXPORT = /([\w$]+|"[^"]*"):\(\)=>([\w$.]+)/g;

/** The import of another part: `import_chunk_X=require("./chunk-X.js")`. */
const IMPORT = /\b(import_[\w$]+)=require\(("\.\/[^"]*")\)/g;

/**
 * Rewrites a part that esbuild converted to CommonJS, so that it starts faster:
 * - An imported part runs at its first use. `import a from './a.js'; a.b()` becomes `(a??=require("./a.js")).b()`.
 * - The exports are one object literal.
 *
 * Throws if the output of esbuild has another form, for example after an update.
 */
export function lazyPart(code: string): string {
  const exported = code.replace(EXPORTS, (_, list: string) => {
    const getters = list.replace(EXPORT, (_pair, name: string, local: string) => `get ${name}(){return ${local}}`);
    return `module.exports={${getters}};Object.defineProperty(module.exports,"__esModule",{value:!0});`;
  });
  if (exported.includes('__toCommonJS(stdin_exports)')) throw new Error('esbuild writes exports in another way');
  // A part is always a module namespace: it needs no conversion.
  const plain = exported.replaceAll('__toESM(require("./', '(require("./');
  const files = new Map([...plain.matchAll(IMPORT)].map(([, name = '', file = '']) => [name, file]));
  if (files.size === 0) return plain;
  const uses = new RegExp(`(?<![\\w$])(${[...files.keys()].join('|')})(?![\\w$])(\\.)?`, 'g');
  return plain
    .replace(IMPORT, '$1')
    .replace(uses, (whole, name: string, member: string | undefined, at: number, text: string) => {
      if (member !== undefined) return `(${name}??=require(${files.get(name)})).`;
      // Only the declarations remain.
      if (/(?:var |,)$/.test(text.slice(at - 4, at))) return whole;
      throw new Error(`esbuild uses ${name} in another way`);
    });
}

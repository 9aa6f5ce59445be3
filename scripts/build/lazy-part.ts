/** What esbuild writes of the exports of a module as CommonJS: two closures and two accessors for each. */
const EXPORTS = /__export\(stdin_exports,\{(.*?)\}\);module\.exports=__toCommonJS\(stdin_exports\);/s;
const EXPORT = /([\w$]+|"[^"]*"):\(\)=>([\w$.]+)/g;

/** `import_chunk_X=require("./chunk-X.js")`, of another part. */
const IMPORT = /\b(import_[\w$]+)=require\(("\.\/[^"]*")\)/g;

/**
 * The text of a part, as esbuild transformed it to CommonJS (minified, with its names), so that it starts faster:
 * - A part that it imports runs when something of it is used, and not before. `import a from './a.js'; a.b()` is
 *   `(a??=require("./a.js")).b()`.
 * - Its exports are one literal.
 *
 * Throws where esbuild writes something else one day.
 */
export function lazyPart(code: string): string {
  const exported = code.replace(EXPORTS, (_, list: string) => {
    const getters = list.replace(EXPORT, (_pair, name: string, local: string) => `get ${name}(){return ${local}}`);
    return `module.exports={${getters}};Object.defineProperty(module.exports,"__esModule",{value:!0});`;
  });
  if (exported.includes('__toCommonJS(stdin_exports)')) throw new Error('esbuild writes exports in another way');
  // A part that `import()` loads is a namespace already.
  const plain = exported.replaceAll('__toESM(require("./', '(require("./');
  const files = new Map([...plain.matchAll(IMPORT)].map(([, name = '', file = '']) => [name, file]));
  if (files.size === 0) return plain;
  const uses = new RegExp(`(?<![\\w$])(${[...files.keys()].join('|')})(?![\\w$])(\\.)?`, 'g');
  return plain
    .replace(IMPORT, '$1')
    .replace(uses, (whole, name: string, member: string | undefined, at: number, text: string) => {
      if (member !== undefined) return `(${name}??=require(${files.get(name)})).`;
      // All that is left are the declarations.
      if (/(?:var |,)$/.test(text.slice(at - 4, at))) return whole;
      throw new Error(`esbuild uses ${name} in another way`);
    });
}

/**
 * The first lines of the program. It is bundled in parts, so that a command reads and compiles only what it uses: the parts
 * are in an asset of the executable, or files of a directory beside this one, each with what V8 compiled of it at build time
 * where that fits the machine. See bundle.ts and packed-parts.ts.
 */
'use strict';
const { getRawAsset, isSea } = process.getBuiltinModule('node:sea');
const { Script } = process.getBuiltinModule('node:vm');
const load = require;

/** The names in Node's own modules, by module. */
const BUILTINS = {};
const PARTS = '';

/** The compiled parts, by name. */
const scripts = new Map();
const builtins = new Map();

/** One of Node's own modules, which is loaded when something in it is used: most commands use few of those they import. */
function builtin(id) {
  const names = BUILTINS[id.replace(/^node:/, '')];
  if (names === undefined) return load(id);
  let lazy = builtins.get(id);
  if (lazy === undefined) {
    lazy = {};
    // require takes as long as opening a file does, so the module is asked for once.
    let module;
    for (const name of names)
      Object.defineProperty(lazy, name, {
        enumerable: true,
        configurable: true,
        get() {
          module ??= load(id);
          return module[name];
        },
      });
    builtins.set(id, lazy);
  }
  return lazy;
}

let packed;

/** A part of the asset, without a copy: what no command uses is never read from the disk. */
function unpack(name) {
  if (packed === undefined) {
    const asset = Buffer.from(getRawAsset('parts'));
    const begin = 4 + asset.readUInt32LE(0);
    packed = { index: JSON.parse(asset.latin1Slice(4, begin)), files: asset.subarray(begin) };
  }
  return packed.files.subarray(...packed.index[name]);
}

function read(name) {
  return isSea() ? unpack(name) : load('node:fs').readFileSync(`${__dirname}/${PARTS}/${name}`);
}

function readIfThere(name) {
  try {
    return read(name);
  } catch {
    return undefined;
  }
}

function compiled(name) {
  let script = scripts.get(name);
  if (script === undefined) {
    // One byte for each character: the build leaves no others.
    script = new Script(read(name).latin1Slice(), { filename: name, cachedData: readIfThere(`${name}.cache`) });
    scripts.set(name, script);
  }
  return script;
}

/** Runs the program. The build calls it more than once. */
function run() {
  const modules = new Map();
  const requirePart = (id) => {
    if (!id.startsWith('./')) return builtin(id);
    let module = modules.get(id);
    if (module === undefined) {
      module = { exports: {} };
      modules.set(id, module);
      compiled(id.slice(2)).runInThisContext()(requirePart, module, module.exports);
    }
    return module.exports;
  };
  requirePart('./main.js');
}

if (isSea() || require.main === module) run();
else module.exports = { compiled, run, used: () => [...scripts.keys()] };

import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import type { Readable, Writable } from 'node:stream';

/** As far as it is used here: https://microsoft.github.io/language-server-protocol/specifications/base/ */
interface Message {
  readonly id?: number | string;
  readonly method?: string;
  readonly params?: unknown;
  readonly result?: unknown;
  readonly error?: { readonly message: string };
}

export interface Diagnostic {
  readonly message: string;
  readonly range: { readonly start: { readonly line: number; readonly character: number } };
}

/** yaml-language-server, spoken to as an editor does. It must not use the network: it has no proxy and a dead resolver. */
export class LanguageServer implements AsyncDisposable {
  readonly #child: ChildProcessByStdio<Writable, Readable, null>;
  readonly #answers = new Map<number, PromiseWithResolvers<unknown>>();
  readonly #diagnostics = new Map<string, PromiseWithResolvers<readonly Diagnostic[]>>();
  #rest = Buffer.alloc(0);
  #id = 0;

  constructor() {
    const root = dirname(createRequire(import.meta.url).resolve('yaml-language-server/package.json'));
    const args = [join(root, 'bin/yaml-language-server'), '--stdio'];
    this.#child = spawn(process.execPath, args, { stdio: ['pipe', 'pipe', 'inherit'] });
    this.#child.stdout.on('data', (bytes: Buffer) => this.#read(bytes));
  }

  async initialize(): Promise<void> {
    const documentation = { documentationFormat: ['markdown'] };
    const textDocument = {
      hover: { contentFormat: ['markdown'] },
      completion: { completionItem: { ...documentation, snippetSupport: true } },
      publishDiagnostics: {},
    };
    const capabilities = { textDocument, workspace: { configuration: true } };
    await this.request('initialize', { processId: process.pid, rootUri: null, capabilities });
    this.#send({ method: 'initialized', params: {} });
  }

  /** Opens a document and gives what is wrong in it. */
  async open(uri: string, text: string): Promise<readonly Diagnostic[]> {
    const found = Promise.withResolvers<readonly Diagnostic[]>();
    this.#diagnostics.set(uri, found);
    this.#send({
      method: 'textDocument/didOpen',
      params: { textDocument: { uri, languageId: 'yaml', version: 1, text } },
    });
    return await found.promise;
  }

  async request(method: string, params: unknown): Promise<unknown> {
    this.#id += 1;
    const answer = Promise.withResolvers<unknown>();
    this.#answers.set(this.#id, answer);
    this.#send({ id: this.#id, method, params });
    return await answer.promise;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#child.kill();
  }

  #send(message: Message): void {
    const text = JSON.stringify({ jsonrpc: '2.0', ...message });
    this.#child.stdin.write(`Content-Length: ${Buffer.byteLength(text)}\r\n\r\n${text}`);
  }

  #read(bytes: Buffer): void {
    this.#rest = Buffer.concat([this.#rest, bytes]);
    for (;;) {
      const end = this.#rest.indexOf('\r\n\r\n');
      const [, size] = /Content-Length: (\d+)/i.exec(this.#rest.subarray(0, Math.max(0, end)).toString()) ?? [];
      if (size === undefined || this.#rest.length < end + 4 + Number(size)) return;
      const text = this.#rest.subarray(end + 4, end + 4 + Number(size)).toString();
      this.#rest = this.#rest.subarray(end + 4 + Number(size));
      this.#take(JSON.parse(text) as Message);
    }
  }

  #take({ id, method, params, result, error }: Message): void {
    if (method === undefined) {
      const answer = this.#answers.get(Number(id));
      if (error === undefined) answer?.resolve(result);
      else answer?.reject(new Error(error.message));
    } else if (method === 'workspace/configuration') {
      const { items } = params as { items: readonly { section?: string }[] };
      const yaml = { validate: true, hover: true, completion: true, schemaStore: { enable: false } };
      this.#send({ id: id ?? 0, result: items.map(({ section }) => (section === 'yaml' ? yaml : {})) });
    } else if (method === 'textDocument/publishDiagnostics') {
      const { uri, diagnostics } = params as { uri: string; diagnostics: readonly Diagnostic[] };
      this.#diagnostics.get(uri)?.resolve(diagnostics);
    } else if (id !== undefined) this.#send({ id, result: null });
  }
}

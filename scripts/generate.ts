/**
 * Writes the files that are generated from the sources: `npm run generate`. `test/repository/scripts/generate.test.ts` fails if
 * one of them is out of date.
 */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { DOCUMENT_VERSIONS } from '@machineadm/document/index.ts';
import * as z from 'zod';
import { buildInfo } from '../src/cli/build-info.ts';
import { createProgram } from '../src/commands/index.ts';
import { planAndApplyPage } from '../test/support/apply-failures/index.ts';
import { contractWithClauses } from './generate/clauses.ts';
import { completionScripts } from './generate/completion-scripts.ts';
import { conformanceTestsMarkdown } from './generate/conformance-tests.ts';
import { convertCodesMarkdown } from './generate/convert-codes.ts';
import { customResourceDefinitions } from './generate/custom-resources/index.ts';
import { documentSchema } from './generate/document-schema/index.ts';
import { downloadScriptText, downloadScriptWindowsText } from './generate/download-script.ts';
import { editorFiles, valueMeanings } from './generate/editor-schema.ts';
import { eventSchema } from './generate/event-schema.ts';
import { goTypes } from './generate/go-types.ts';
import { hardeningControlsMarkdown } from './generate/hardening-controls.ts';
import { manPage } from './generate/man-page.ts';
import { outputSchemas } from './generate/output-schemas.ts';
import { commandsPage } from './generate/reference/commands-page.ts';
import { FIELD_RECORD, fieldPages, pagesOfFields } from './generate/reference/field-pages.ts';
import { kubernetesMinorsPage } from './generate/reference/kubernetes-minors.ts';
import { objectsPage } from './generate/reference/objects-page.ts';
import { reasonsPages } from './generate/reference/reasons-page.ts';
import { typescriptTypes } from './generate/schema-types.ts';
import { statusSchema, summarySchema } from './generate/status-schema.ts';
import {
  exitCodesJson,
  exitCodesMarkdown,
  publishedReasons,
  publishedStepIds,
  reasonsMarkdown,
} from './generate/tables.ts';
import { vectors } from './generate/vectors.ts';
import { readOptions } from './options.ts';

const CONTRACT = 'contract/CONTRACT.md';
const PUBLISHED_REASONS = 'test/fixtures/reasons.txt';
const PUBLISHED_STEPS = 'test/fixtures/step-ids.txt';

/** The content of every generated file, by its path below `root`. */
export function generatedFiles(root: string): ReadonlyMap<string, string> {
  const files = new Map<string, string>();
  for (const version of DOCUMENT_VERSIONS) {
    const name = version.apiVersion.split('/')[1] ?? '';
    const schema = documentSchema(version);
    files.set(`contract/schema/${name}.json`, json(schema));
    if (name === 'v1alpha1')
      files.set('packaging/bootstrap-provider/definitions.yaml', customResourceDefinitions(schema));
    files.set(`contract/types/${name}.d.ts`, typescriptTypes(schema));
    files.set(`contract/go/${name}/types.go`, goTypes(schema, name));
    const pages = pagesOfFields(read(root, FIELD_RECORD) ?? '', buildInfo().version);
    const editor = editorFiles(documentSchema(version, valueMeanings), name, pages);
    for (const [file, value] of Object.entries(editor)) {
      files.set(`contract/editor/${file}`, typeof value === 'string' ? value : json(value));
    }
  }
  for (const [file, list] of Object.entries(vectors())) files.set(`contract/vectors/${file}`, json(list));
  const status = { $id: 'https://machineadm.dev/schema/status.v1.json', ...z.toJSONSchema(statusSchema) };
  files.set('contract/status.v1.schema.json', json(status));
  const summary = { $id: 'https://machineadm.dev/schema/summary.v1.json', ...z.toJSONSchema(summarySchema) };
  files.set('contract/summary.v1.schema.json', json(summary));
  const event = { $id: 'https://machineadm.dev/schema/event.v1.json', ...z.toJSONSchema(eventSchema) };
  files.set('contract/event.v1.schema.json', json(event));
  for (const [file, schema] of outputSchemas()) files.set(`contract/${file}`, json(schema));
  files.set('contract/exit-codes.json', exitCodesJson());
  files.set('contract/exit-codes.md', exitCodesMarkdown());
  files.set('contract/reasons.md', reasonsMarkdown());
  files.set(CONTRACT, contractWithClauses(read(root, CONTRACT) ?? ''));
  files.set('docs/conformance-tests.md', conformanceTestsMarkdown());
  files.set('docs/convert-codes.md', convertCodesMarkdown());
  files.set('docs/hardening-controls.md', hardeningControlsMarkdown());
  files.set('docs/plan-and-apply.md', planAndApplyPage());
  files.set(
    'packaging/man/machineadm.1',
    manPage(
      createProgram(() => undefined),
      buildInfo().version,
    ),
  );
  files.set('docs/reference/commands.md', commandsPage(createProgram(() => undefined)));
  files.set('docs/reference/kubernetes-minors.md', kubernetesMinorsPage());
  for (const [path, text] of reasonsPages(read(root, 'docs/faults.md') ?? '')) files.set(path, text);
  const outputs = [...outputSchemas()].map(([file, schema]) => {
    const kind = file.replace(/^.*\/|\.json$/g, '');
    return { kind, source: `\`machineadm schema --kind ${kind}\` prints its schema`, file, schema };
  });
  files.set(
    'docs/reference/json.md',
    objectsPage([
      {
        kind: 'BootstrapStatus',
        source: '`/run/machineadm/status.json`',
        file: 'status.v1.schema.json',
        schema: status,
      },
      {
        kind: 'BootstrapSummary',
        source: '`/run/machineadm/summary.json`',
        file: 'summary.v1.schema.json',
        schema: summary,
      },
      {
        kind: 'BootstrapEvent',
        source: 'what sinks receive ([reporting](../reporting.md))',
        file: 'event.v1.schema.json',
        schema: event,
      },
      ...outputs,
    ]),
  );
  for (const [path, text] of fieldPages(read(root, FIELD_RECORD) ?? '', buildInfo().version)) files.set(path, text);
  files.set('src/commands/completion/scripts.ts', completionScripts(root));
  files.set(
    'packages/user-data/src/download-script-text.ts',
    downloadScriptText(readFileSync(join(root, 'packaging/download/machineadm-download.sh'), 'utf8')),
  );
  files.set(
    'packages/user-data/src/download-script-windows-text.ts',
    downloadScriptWindowsText(readFileSync(join(root, 'packaging/download/machineadm-download.ps1'), 'utf8')),
  );
  files.set(PUBLISHED_REASONS, publishedReasons(read(root, PUBLISHED_REASONS) ?? ''));
  files.set(PUBLISHED_STEPS, publishedStepIds(read(root, PUBLISHED_STEPS) ?? ''));
  return files;
}

/** The generated files that are out of date, with their new content. */
function outdatedFiles(root: string): ReadonlyMap<string, string> {
  return new Map([...generatedFiles(root)].filter(([path, content]) => read(root, path) !== content));
}

function json(value: unknown): string {
  return `${JSON.stringify(value, undefined, 2)}\n`;
}

function read(root: string, path: string): string | undefined {
  try {
    return readFileSync(join(root, path), 'utf8');
  } catch {
    return undefined;
  }
}

function main(): void {
  const root = resolve(import.meta.dirname, '..');
  const outdated = outdatedFiles(root);
  for (const [path, text] of outdated) {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), text);
    console.log(`wrote ${path}`);
  }
  if (outdated.size === 0) console.log('all generated files are up to date');
}

if (import.meta.main) {
  readOptions(import.meta.filename, {});
  main();
}

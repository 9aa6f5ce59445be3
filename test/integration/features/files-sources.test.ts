import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { before, describe, test } from 'node:test';
import { agent } from '../../support/agent.ts';
import { newAuthority } from '../../support/api-server.ts';
import { keepFewAuthorities } from '../../support/few-authorities.ts';
import { startProxy, startServer } from '../../support/http-servers.ts';
import { inThrowAwayMachine } from '../../support/namespace.ts';
import { needs } from '../../support/needs.ts';

const DOCUMENT = '/srv/bootstrap.yaml';
const TRACE = '/srv/trace';
const TOOL = 'the tool\n'.repeat(100_000);

const authority = newAuthority('corporate authority');
const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex');
const indented = (text: string, spaces: number): string => text.trimEnd().replace(/^/gm, ' '.repeat(spaces));

function write(body: string): void {
  writeFileSync(
    DOCUMENT,
    `apiVersion: machineadm.dev/v1alpha1\nkind: MachineBootstrap\nmetadata: {name: node-1}\n${body}`,
  );
}

async function run(...args: readonly string[]) {
  const done = await agent([...args, '-d', DOCUMENT, '-o', 'json']);
  return { ...done, answer: JSON.parse(done.stdout) };
}

inThrowAwayMachine(import.meta.filename, () => {
  mkdirSync('/srv', { recursive: true });

  describe('variables, secrets and downloads of a document', () => {
    before(keepFewAuthorities);
    const body = (url: string, proxy: string, digest = sha256(TOOL)) => `
variables:
  rack: {envFile: {path: /srv/afterburn, key: RACK}}
  name: {instanceData: local_hostname}
secrets:
  bearer: {value: Bearer hidden-word}
  printed: {exec: {command: [/srv/print-token, 'a b']}}
  fetched: {http: {url: '${url}/secret', allowInsecure: true, headers: {authorization: {secret: bearer}}, pointer: /data/token}}
host:
  proxy: {https: '${proxy}', for: [agent]}
  certificateAuthorities:
    - name: corporate
      pem: |
${indented(authority.certificate, 8)}
  files:
    - {path: /srv/out/rack, expand: true, content: "rack \${rack} of \${name}\\n"}
    - {path: /srv/out/printed, contentFrom: {secret: printed}}
    - {path: /srv/out/fetched, contentFrom: {secret: fetched}}
    - {path: /srv/out/tool, mode: '0755', contentFrom: {http: {url: '${url}/tool', sha256: '${digest}'}}}
`;

    test('are resolved by a run, through the proxy with the CA of the document, and by no plan', {
      skip: needs('update-ca-certificates'),
    }, async () => {
      writeFileSync('/srv/afterburn', 'RACK=r7\n');
      mkdirSync('/run/cloud-init');
      writeFileSync('/run/cloud-init/instance-data.json', JSON.stringify({ v1: { local_hostname: 'node-1' } }));
      writeFileSync('/srv/print-token', `#!/bin/sh\necho "$1" >>${TRACE}\necho from-the-program\n`);
      chmodSync('/srv/print-token', 0o755);
      await using server = await startServer(
        (request) =>
          request.url === '/tool'
            ? { body: TOOL }
            : request.headers.authorization === 'Bearer hidden-word'
              ? { body: '{"data":{"token":"from-the-server"}}' }
              : { status: 401 },
        authority.issue('files.example'),
      );
      await using proxy = await startProxy(() => server.port);
      write(body('https://files.example', proxy.url));

      const planned = await run('plan');
      assert.equal(planned.status, 0, JSON.stringify(planned.answer.refusal));
      const later = planned.answer.changes.filter(
        ({ knownAfter }: { knownAfter?: string }) => knownAfter === 'secrets',
      );
      assert.deepEqual(
        later.map(({ id }: { id: string }) => id),
        ['files//srv/out/printed', 'files//srv/out/fetched'],
      );
      assert.deepEqual([existsSync(TRACE), server.requests, proxy.requests], [false, [], []]);

      const provisioned = await run('provision');
      assert.equal(provisioned.status, 0, provisioned.stdout + provisioned.stderr);
      const text = (name: string): string => readFileSync(`/srv/out/${name}`, 'utf8');
      assert.equal(text('rack'), 'rack r7 of node-1\n');
      assert.deepEqual([text('printed'), text('fetched')], ['from-the-program', 'from-the-server']);
      assert.equal(text('tool'), TOOL);
      assert.deepEqual(
        [statSync('/srv/out/tool').mode & 0o7777, statSync('/srv/out/printed').mode & 0o7777],
        [0o755, 0o600],
      );
      assert.equal(readFileSync(TRACE, 'utf8'), 'a b\n', 'asked once in the run');
      assert.deepEqual([...server.requests].sort(), ['GET /secret', 'GET /tool']);
      assert.ok(
        proxy.requests.length > 0 && proxy.requests.every((request) => request === 'CONNECT files.example:443'),
      );
      assert.doesNotMatch(provisioned.stdout + provisioned.stderr, /hidden-word|from-the-program|from-the-server/);

      const again = await run('provision');
      assert.equal(again.status, 0, again.stdout + again.stderr);
      const { files } = Object.fromEntries(again.answer.steps.map((step: { id: string }) => [step.id, step]));
      assert.equal(files.state, 'Unchanged');
      assert.deepEqual(server.requests.filter((request) => request === 'GET /tool').length, 1);
    });

    test('fail with their names, leave no partial change, and succeed the next time', async () => {
      await using server = await startServer(() => ({ body: 'another tool' }));
      const file = (url: string, digest: string) =>
        `host: {files: [{path: /srv/late/tool, contentFrom: {http: {url: '${url}', sha256: '${digest}'}}}]}\n`;
      write(file(`${server.url}/tool`, sha256(TOOL)));
      const wrong = await run('provision');
      assert.deepEqual(
        [wrong.status, wrong.answer.failure.reason, wrong.answer.failure.step],
        [10, 'DownloadFailed', 'files'],
      );
      assert.match(wrong.answer.failure.summary, /SHA-256/);
      assert.deepEqual(readdirSync('/srv/late'), []);
      write(file(`${server.url}/tool`, sha256('another tool')));
      assert.equal((await run('provision')).status, 0);
      assert.equal(readFileSync('/srv/late/tool', 'utf8'), 'another tool');
    });

    test('that do not exist are one mistake of the document each, with what exists', async () => {
      writeFileSync('/srv/afterburn', 'RACK=r7\nROW=2\n');
      write('variables: {r: {envFile: {path: /srv/afterburn, key: RAKC}}}\nhost: {hostname: "a-${r}"}\n');
      const missing = await run('provision');
      assert.deepEqual([missing.status, missing.answer.error.reason], [3, 'DocumentInvalid']);
      assert.match(JSON.stringify(missing.answer.error.evidence), /RAKC in \/srv\/afterburn does not exist.*RACK, ROW/);
      assert.equal((await agent(['validate', '-d', DOCUMENT])).status, 0, 'elsewhere it may exist');
    });

    test('from a metadata service that does not answer: MetadataUnavailable, before any change', async () => {
      write(
        'variables: {i: {metadata: {provider: aws, path: instance-id}}}\nhost: {files: [{path: /srv/never, expand: true, content: "${i}"}]}\n',
      );
      const refused = await run('provision');
      assert.deepEqual([refused.status, refused.answer.error.reason], [4, 'MetadataUnavailable']);
      assert.equal(existsSync('/srv/never'), false);
    });

    test('of a thousand cost one flush of the journal and one of the files, not one each', async (context) => {
      const skip = needs('strace');
      if (skip !== false) return context.skip(skip);
      const files = Array.from({ length: 1000 }, (_, index) => `    - {path: /srv/many/${index}, content: x}\n`);
      write(`host:\n  files:\n${files.join('')}`);
      const wrapper = ['strace', '-f', '-e', 'trace=fsync,fdatasync,syncfs', '-o', '/srv/syncs'];
      const done = await agent(['provision', '-d', DOCUMENT, '-o', 'json'], { wrapper });
      assert.equal(done.status, 0, done.stderr);
      const syncs = readFileSync('/srv/syncs', 'utf8').match(/(fsync|fdatasync|syncfs)\(/g) ?? [];
      assert.ok(syncs.length < 20, syncs.join(' '));
      const journal = readFileSync('/var/lib/machineadm/journal', 'utf8');
      const recorded = new Set(journal.match(/"path":"\/srv\/many\/\d+"/g));
      assert.equal(recorded.size, 1000, 'and every file is in the journal');
    });
  });
});

import { readdirSync, readFileSync } from 'node:fs';
import { renderTemplate } from '@machineadm/convert/go-template/content.ts';
import { Report } from '@machineadm/convert/report/report.ts';
import { Expressions, markExpressions } from '@machineadm/convert/texts/jinja.ts';
import { yamlDocuments, yamlValue } from '@machineadm/convert/texts/yaml.ts';
import { readSavedLog } from '@machineadm/failures/saved-log.ts';
import { TellingLines } from '@machineadm/failures/telling-lines.ts';
import { verdict } from '@machineadm/failures/verdict.ts';
import { sameTables } from '../../../src/container-runtime/toml-tree.ts';
import { parseOthers } from '../../../src/features/containerd/found.ts';
import { tableText } from '../../../src/features/containerd/toml-text.ts';
import { CANARIES, type FuzzTarget } from '../target.ts';

const [SECRET, TOKEN, KEY] = CANARIES;

export const templates: FuzzTarget = {
  name: 'templates',
  reads: 'jinja and Go templates',
  seeds: [
    'a {{- if .controlPlane.version -}} {{ .controlPlane.version }} {{ else }} none {{ end }}\n{{/* x */}}\n',
    '## template: jinja\n#cloud-config\nruncmd: ["echo {{ ds.meta_data.rack }}", "{% raw %}{{ x }}{% endraw %}"]\n',
  ],
  tokens: [
    '{{',
    '}}',
    '{{- ',
    ' -}}',
    '{%',
    '%}',
    '{#',
    '#}',
    '{% raw %}',
    '{% endraw %}',
    'if ',
    'else',
    'end',
    '.',
    ' ',
    '"',
    '[',
  ],
  run: async (input) => {
    const report = new Report();
    renderTemplate(input, 'v1.35.2');
    markExpressions(input, 'place', new Expressions(), report);
    return report.decisions.map(({ code }) => code).join('\n');
  },
};

export const convertedYaml: FuzzTarget = {
  name: 'converted-yaml',
  reads: 'YAML in converted objects',
  seeds: [`apiVersion: v1\nkind: Secret\nstringData: {a: ${SECRET}}\n---\n- &x {b: "${KEY}"}\n- *x\n- ${TOKEN}\n`],
  tokens: ['---\n', ' ', '\n', ': ', '- ', '"', "'", '[', '{', '}', '&a ', '*a', '|\n', '<<: *x\n', '!!binary ', '? '],
  run: async (input) => {
    const report = new Report();
    await yamlValue(input, 'place', report);
    await yamlDocuments(input, 'place', report);
    return report.decisions.map(({ message }) => message).join('\n');
  },
};

export const toml: FuzzTarget = {
  name: 'toml',
  reads: 'containerd configuration (TOML)',
  seeds: [
    `version = 2\nroot = "/a"\n[plugins."io.containerd.grpc.v1.cri".registry.configs."r".auth]\npassword = "${KEY}"\nx = [1.0, 1e6, 0x10, 1979-05-27T07:32:00Z, { a = 1_000, b = "# x" }]\ny = """\na = 1.0\n"""\nz = 'l'\n[[t]]\nd = 07:32:00\n`,
  ],
  tokens: [
    '=',
    ' = ',
    '[',
    ']',
    '{',
    '}',
    '"',
    '"""',
    "'",
    "'''",
    '\n',
    '#',
    ',',
    '.',
    '1.0',
    'inf',
    '1979-05-27',
    '\\',
    '_',
    '[[',
    'verbatim',
  ],
  run: async (input) => {
    const { tree: table } = await parseOthers('/etc/containerd/config.toml', input);
    const { tree: again } = await parseOthers('/etc/containerd/config.toml', await tableText(table));
    if (!sameTables(table, again)) throw new TypeError('a table that was written and parsed again differs');
    return '';
  },
};

const TRANSCRIPTS = new URL('../../../test/fixtures/transcripts/', import.meta.url);

export const log: FuzzTarget = {
  name: 'log',
  reads: 'Saved logs, for `diagnose LOG`',
  seeds: readdirSync(TRANSCRIPTS)
    .filter((name) => /^[ab]0.*\.log$/.test(name))
    .map((name) => readFileSync(new URL(name, TRANSCRIPTS), 'utf8').slice(0, 20_000)),
  tokens: [
    '-- kubeadm --\n',
    '-- journal: kubelet.service --\n',
    'error: ',
    '\n',
    '{"MESSAGE":"',
    '"}',
    '[ERROR x]: ',
    '\u001b[31m',
    'F1120 ',
    '[preflight] ',
  ],
  run: async (input) => {
    const collector = new TellingLines('');
    for (let at = 0; at < input.length; at += 4096) collector.add(Buffer.from(input.slice(at, at + 4096)));
    verdict({ lines: collector.lines() });
    verdict({ lines: readSavedLog(input) });
    return '';
  },
};

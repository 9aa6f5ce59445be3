import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { cpSync, globSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { VERSION } from '@machineadm/translator/version.ts';
import { parse, parseAllDocuments } from 'yaml';
import { bootstrapComponents, chartArchive, components } from '../../scripts/translator/manifests.ts';
import { kubernetesProgram } from '../support/kubernetes-release.ts';
import { BASE } from '../support/translator.ts';

const ROOT = resolve(import.meta.dirname, '../..');
const PROVIDER = 'cluster.x-k8s.io/provider';
const SYSTEM = 'machineadm-system';

interface Manifest {
  kind: string;
  metadata: {
    name: string;
    namespace?: string;
    labels?: Record<string, string>;
    annotations?: Record<string, string>;
  };
  spec?: {
    replicas?: number;
    ingress?: { from?: object[] }[];
    template?: { metadata: { labels: Record<string, string> }; spec: { containers: [Container] } };
  };
  subjects?: { namespace?: string }[];
}

interface Container {
  image: string;
  args: string[];
}

/** Objects by kind, namespace and name: their order is of no importance. */
function byName(text: string): ReadonlyMap<string, Manifest> {
  const objects = parseAllDocuments(text).map((one): Manifest | null => one.toJS());
  return new Map(
    objects.flatMap((one) =>
      one === null ? [] : [[`${one.kind} ${one.metadata.namespace ?? ''}/${one.metadata.name}`, one]],
    ),
  );
}

function containerOf(objects: ReadonlyMap<string, Manifest>, namespace = SYSTEM): Container {
  const { spec } = objects.get(`Deployment ${namespace}/machineadm-translator`) ?? assert.fail('no Deployment');
  return spec?.template?.spec.containers[0] ?? assert.fail('no container');
}

let scratch = '';
before(() => {
  scratch = mkdtempSync(join(tmpdir(), 'machineadm-manifests-'));
});
after(() => rmSync(scratch, { recursive: true }));

describe('the kustomize base, by kustomize', {
  skip: needs('the Kubernetes of the lab (npm run lab -- build)'),
}, () => {
  test('gives the objects of components.yaml, with the image of the user', () => {
    cpSync(BASE, join(scratch, 'base'), { recursive: true });
    // kustomize 2.0 of kubectl 1.20 names directories `bases`; later ones take them among the resources, too.
    const own = `bases: [base]\nimages: [{name: docker.io/library/machineadm-translator, newName: registry.example.com/a/b, newTag: 9.9.9}]\n`;
    writeFileSync(join(scratch, 'kustomization.yaml'), own);
    const found = byName(execFileSync(kubernetesProgram('kubectl'), ['kustomize', scratch], { encoding: 'utf8' }));
    const expected = byName(components(ROOT, VERSION));
    containerOf(expected).image = 'registry.example.com/a/b:9.9.9';
    assert.deepEqual(found, expected);
  });
});

/** Renders files of a chart as Helm does: by text/template of Go, with the functions that they call. */
const RENDERER = `package main

import (
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"text/template"
)

func main() {
	var values map[string]interface{}
	if err := json.Unmarshal([]byte(os.Args[1]), &values); err != nil {
		panic(err)
	}
	functions := template.FuncMap{
		"quote": func(value interface{}) string { return strconv.Quote(fmt.Sprint(value)) },
		"default": func(other, value interface{}) interface{} {
			if value == nil || value == "" {
				return other
			}
			return value
		},
	}
	for _, path := range os.Args[2:] {
		text, err := os.ReadFile(path)
		if err != nil {
			panic(err)
		}
		parsed := template.Must(template.New(path).Funcs(functions).Option("missingkey=error").Parse(string(text)))
		fmt.Println("---")
		if err := parsed.Execute(os.Stdout, values); err != nil {
			panic(err)
		}
	}
}
`;

import { needs } from '../support/needs.ts';

const noGo = needs('go');

describe("the Helm chart, by Go's templates", { skip: noGo }, () => {
  let chart = '';
  let program = '';

  before(() => {
    const archive = join(scratch, 'chart.tgz');
    writeFileSync(archive, chartArchive(ROOT, VERSION));
    execFileSync('tar', ['-xzf', archive, '-C', scratch]);
    chart = join(scratch, 'machineadm-translator');
    const source = join(scratch, 'renderer');
    mkdirSync(source);
    writeFileSync(join(source, 'main.go'), RENDERER);
    program = join(source, 'render');
    const env = { PATH: process.env.PATH ?? '', HOME: scratch, GO111MODULE: 'off', GOFLAGS: '' };
    execFileSync('go', ['build', '-o', program, join(source, 'main.go')], { env, stdio: 'pipe' });
  });

  function rendered(namespace: string, change: object): ReadonlyMap<string, Manifest> {
    const values = { ...parse(readFileSync(join(chart, 'values.yaml'), 'utf8')), ...change };
    const { version, appVersion } = parse(readFileSync(join(chart, 'Chart.yaml'), 'utf8'));
    const input = {
      Values: values,
      Release: { Namespace: namespace, Name: 'machineadm-translator' },
      Chart: { Version: version, AppVersion: appVersion },
    };
    const templates = globSync(join(chart, 'templates/*')).sort();
    const text = execFileSync(program, [JSON.stringify(input), ...templates], { encoding: 'utf8' });
    return byName(text);
  }

  /** Objects of a release as the chart has them: without the namespace, and the label of clusterctl. */
  function ofChart(text: string): ReadonlyMap<string, Manifest> {
    const expected = new Map([...byName(text)].filter(([, { kind }]) => kind !== 'Namespace'));
    for (const { metadata, spec } of expected.values()) {
      delete metadata.labels?.[PROVIDER];
      if (spec?.template !== undefined) delete spec.template.metadata.labels[PROVIDER];
    }
    return expected;
  }

  test('gives the objects of components.yaml', () => {
    assert.deepEqual(rendered(SYSTEM, {}), ofChart(components(ROOT, VERSION)));
  });

  test('gives those of bootstrap-components.yaml, and keeps the definitions when it is uninstalled', () => {
    const expected = ofChart(
      bootstrapComponents(ROOT, VERSION).replace(/\$+(?=\{)/g, (all) => all.slice(all.length / 2)),
    );
    for (const { kind, metadata } of expected.values())
      if (kind === 'CustomResourceDefinition') metadata.annotations = { 'helm.sh/resource-policy': 'keep' };
    assert.deepEqual(rendered(SYSTEM, { bootstrapProvider: true }), expected);
    const { metadata, subjects } =
      rendered('elsewhere', { bootstrapProvider: true, namespaces: ['team-c'] }).get(
        'RoleBinding team-c/machineadm-bootstrap-namespace',
      ) ?? assert.fail('no binding');
    assert.deepEqual([metadata.namespace, subjects?.[0]?.namespace], ['team-c', 'elsewhere']);
  });

  test('gives those of packaging/in-place-updates for an image', () => {
    const image = 'registry.example.com/machineadm:0.1.0';
    const objects = rendered('elsewhere', { updateImage: image });
    const added = [...objects.keys()].filter((name) => !rendered('elsewhere', {}).has(name)).sort();
    assert.deepEqual(added, [
      'ClusterRole /machineadm-updates',
      'ClusterRoleBinding /machineadm-updates',
      'ExtensionConfig /machineadm',
    ]);
    assert.ok(containerOf(objects, 'elsewhere').args.includes(`--update-image=${image}`));
    const { metadata, spec } = objects.get('ExtensionConfig /machineadm') ?? assert.fail();
    assert.match(JSON.stringify([metadata, spec]), /"elsewhere\/machineadm-translator-tls".*"namespace":"elsewhere"/);
  });

  test('follows its values, in any namespace', () => {
    const objects = rendered('elsewhere', {
      image: { repository: 'registry.example.com/a/b', tag: '9.9.9' },
      replicas: 3,
      reportNamespaces: ['team-a', 'team-b'],
      namespaces: ['team-c'],
      controlPlaneCidrs: ['192.0.2.0/28', '2001:db8::/64'],
      args: ['--deadline=5', '--lease=a "quoted" name'],
    });
    const { image, args } = containerOf(objects, 'elsewhere');
    assert.equal(image, 'registry.example.com/a/b:9.9.9');
    assert.deepEqual(args.slice(1), [
      '--report-namespace=team-a',
      '--report-namespace=team-b',
      '--deadline=5',
      '--lease=a "quoted" name',
    ]);
    assert.equal(objects.get('Deployment elsewhere/machineadm-translator')?.spec?.replicas, 3);
    for (const name of [
      'team-a/machineadm-translator-reports',
      'team-b/machineadm-translator-reports',
      'team-c/machineadm-translator-namespace',
    ]) {
      assert.equal(objects.get(`RoleBinding ${name}`)?.subjects?.[0]?.namespace, 'elsewhere');
    }
    const [webhook, health] = objects.get('NetworkPolicy elsewhere/machineadm-translator')?.spec?.ingress ?? [];
    assert.deepEqual(webhook?.from, [{ ipBlock: { cidr: '192.0.2.0/28' } }, { ipBlock: { cidr: '2001:db8::/64' } }]);
    assert.equal(health?.from, undefined);
    const others = [...objects.values()].filter(({ metadata }) => metadata.namespace === SYSTEM);
    assert.deepEqual(others, [], 'nothing stays in the namespace of the plain manifests');
    assert.ok(!JSON.stringify([...objects.values()]).includes(SYSTEM));
  });
});

import assert from 'node:assert/strict';
import { mkdtempDisposableSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path/posix';
import { describe, test } from 'node:test';
import { claimsOf, OWN_STEP } from '@machineadm/document/claims/index.ts';
import { formatPath } from '@machineadm/document/diagnostics/index.ts';
import type { Claim } from '@machineadm/document/ownership/claim.ts';
import { BEFORE_MOUNTS, canonicalPath } from '@machineadm/document/ownership/collisions.ts';
import { isCriticalPath } from '@machineadm/document/ownership/paths.ts';
import { stringify } from 'yaml';
import { commandLine } from '../../support/command-line.ts';
import { HEADER, loaded, problemsOf } from '../../support/document.ts';
import { WHOLE_DOCUMENT } from '../../support/drift-machine.ts';
import { KEY } from '../../support/feature-cases.ts';

type Entry = Readonly<Record<string, unknown>>;

/** The document with one more entry of a list of `host`. */
function withEntry(list: string, entry: Entry): string {
  const sections: Entry = WHOLE_DOCUMENT.host;
  const present = sections[list];
  return withHost({ [list]: [...(Array.isArray(present) ? present : []), entry] });
}

/** The document with other sections of `host`, as text with a line for each value. */
function withHost(sections: Entry): string {
  return stringify({ ...WHOLE_DOCUMENT, host: { ...WHOLE_DOCUMENT.host, ...sections } });
}

/** A path of a claim: of a whole directory, one in it. */
function pathOf({ kind, path, names }: Claim): string {
  if (kind === 'tree') return `${path}/x`;
  if (kind !== 'names') return path;
  const name = [
    'hosts.toml',
    'dev-sdb1.swap',
    'machineadm-x.crt',
    'machineadm-x.pem',
    'kubeletconfiguration0machineadm+merge.yaml',
  ].find((one) => names?.test(one));
  return `${path}/${name ?? assert.fail(`name a file for ${String(names)}`)}`;
}

/** What another part of the document may want of a path that is somebody's; `list`: the part. */
const WANTS: Readonly<
  Record<
    string,
    { readonly list: string; readonly entry: (path: string) => Entry; readonly fits?: (claim: Claim) => boolean }
  >
> = {
  'a file': { list: 'files', entry: (path) => ({ path, content: 'x' }) },
  'lines of a file': {
    list: 'files',
    entry: (path) => ({ path, content: 'x', append: true }),
    // Lines beside those of others are no conflict.
    fits: ({ kind, step }) => kind !== 'lines' || step === 'files',
  },
  'a link': { list: 'links', entry: (path) => ({ path, target: '/opt/x', force: true }) },
  'a directory': {
    list: 'directories',
    entry: (path) => ({ path }),
    fits: ({ kind }) => kind !== 'mount',
  },
  nothing: {
    list: 'files',
    entry: (path) => ({ path, absent: true }),
    fits: ({ step, path }) => step !== 'removals' && !isCriticalPath(path),
  },
  'a file below it': {
    list: 'files',
    entry: (path) => ({ path: `${path}/below`, content: 'x' }),
    fits: ({ kind, step }) => kind === 'file' || kind === 'lines' || step === 'removals',
  },
};

const { model } = await loaded(stringify(WHOLE_DOCUMENT));
const CLAIMS = claimsOf(model);

/** Of two fields, each with its place, and what to do about it. */
function assertTold(problems: readonly string[], path: string): void {
  const told = problems.filter((problem) => problem.includes(path) || problem.includes(canonicalPath(path)));
  assert.ok(told.length > 0, `nothing of ${path}: ${problems.join('\n')}`);
  for (const problem of told) {
    assert.match(problem, /^doc\.yaml:\d+:\d+ {2}[\w.[\]]+: .+ \(hint: .+\)$/);
    assert.match(problem, / \(doc\.yaml:\d+:\d+\)/, 'the place of the other');
  }
}

describe('a path that a part of the document manages', () => {
  const claims = CLAIMS.filter(({ step }) => step !== OWN_STEP);

  test('is one of each part that writes, and of the machine', () => {
    assert.ok(new Set(claims.map(({ step }) => step)).size > 25);
  });

  for (const [what, { list, entry, fits = () => true }] of Object.entries(WANTS)) {
    for (const claim of claims.filter(fits)) {
      const path = pathOf(claim);
      test(`${path} of ${formatPath(claim.field)}, where host.${list} wants ${what}, is refused with both places`, async () => {
        assertTold(await problemsOf(withEntry(list, entry(path))), path);
      });
    }
  }

  for (const claim of claims.filter(({ step, kind }) => BEFORE_MOUNTS.has(step) && kind !== 'mount')) {
    const path = dirname(pathOf(claim));
    test(`${pathOf(claim)} of ${formatPath(claim.field)} is not hidden by a mount on ${path}`, async () => {
      const mount = { device: { path: '/dev/vdc' }, path };
      const storage = { mounts: [{ device: { path: '/dev/vdb' }, path: '/srv/data' }, mount] };
      const problems = await problemsOf(withHost({ storage }));
      assertTold(problems, path);
    });
  }
});

describe('what machineadm keeps for itself', () => {
  for (const claim of CLAIMS.filter(({ step }) => step === OWN_STEP)) {
    const path = pathOf(claim);
    test(`${path} is refused to files, links and directories`, async () => {
      for (const [list, entry] of [
        ['files', { path, content: 'x' }],
        ['links', { path, target: '/opt/x' }],
        ['directories', { path }],
      ] as const) {
        const problems = await problemsOf(withEntry(list, entry));
        assert.match(problems.join('\n'), /belongs to machineadm itself \(hint: choose another path\)/, list);
      }
    });
  }
});

/** What a profile of hardening asks for and another part contradicts is in hardening.test.ts. */
describe('a thing that is no path and two parts of a document want otherwise', () => {
  const cases: readonly (readonly [what: string, body: Entry, field: string, other: string])[] = [
    ...(
      [
        ['containerd', { containerRuntime: { containerd: {} } }, 'containerRuntime.containerd'],
        ['kubelet', { kubernetes: WHOLE_DOCUMENT.kubernetes }, 'kubernetes'],
        ['machineadm-sentinel', { kubernetes: WHOLE_DOCUMENT.kubernetes }, 'kubernetes'],
        [
          'sssd',
          { host: { activeDirectory: WHOLE_DOCUMENT.host.activeDirectory }, secrets: WHOLE_DOCUMENT.secrets },
          'host.activeDirectory.logins',
        ],
        ['systemd-networkd', { host: { network: { tool: 'networkd', files: [] } } }, 'host.network.tool'],
        ['NetworkManager', { host: { network: { tool: 'NetworkManager', files: [] } } }, 'host.network.tool'],
        ['apparmor', { host: { apparmor: WHOLE_DOCUMENT.host.apparmor } }, 'host.apparmor'],
        ['machineadm-hooks', { host: { hooks: WHOLE_DOCUMENT.host.hooks } }, 'host.hooks.early'],
      ] as readonly (readonly [string, { readonly host?: Entry } & Entry, string])[]
    ).flatMap(([name, { host, ...sections }, other]) =>
      [{ state: 'Stopped' }, { enabled: false }, { masked: true }].map((down) => {
        const body = { ...sections, host: { ...host, services: [{ name, ...down }] } };
        return [`the service ${name}, ${JSON.stringify(down)}`, body, 'host.services[0]', other] as const;
      }),
    ),
    [
      'a time service',
      { host: { time: { enabled: false }, services: [{ name: 'chronyd', enabled: true }] } },
      'host.services[0]',
      'host.time.enabled',
    ],
    [
      'swap',
      { host: { swap: 'Disabled', storage: { mounts: [{ device: { path: '/dev/vdb' }, type: 'swap' }] } } },
      'host.storage.mounts[0]',
      'host.swap',
    ],
    [
      'the modes of a directory with a secret of the proxy',
      {
        host: {
          proxy: { http: 'http://p:1', for: ['kubelet'] },
          directories: [{ path: '/etc/machineadm', recursive: { mode: '0644' } }],
        },
      },
      'host.directories[0].recursive',
      'host.proxy',
    ],
    [
      'the owner of a directory of containerd',
      {
        host: { directories: [{ path: '/etc/containerd/certs.d', recursive: { owner: 'ada' } }] },
        containerRuntime: {
          containerd: { registries: [{ host: 'a.example', mirrors: [{ url: 'https://b.example' }] }] },
        },
      },
      'host.directories[0].recursive',
      'containerRuntime.containerd.registries[0]',
    ],
    [
      'the modes of a home with keys',
      {
        host: {
          users: [{ name: 'ada', sshAuthorizedKeys: [KEY] }],
          directories: [{ path: '/home/ada', recursive: { owner: 'ada', mode: '0644' } }],
        },
      },
      'host.directories[0].recursive',
      'host.users[0].sshAuthorizedKeys',
    ],
  ];
  for (const [what, body, field, other] of cases) {
    test(`${what}: ${field} and ${other} are refused with their places`, async () => {
      const problems = await problemsOf(stringify(body));
      const told = problems.filter((problem) => problem.includes(`  ${field}`));
      assert.equal(told.length, 1, problems.join('\n'));
      assert.match(told[0] ?? '', /^doc\.yaml:\d+:\d+ {2}.+ \(hint: .+\)$/);
      assert.ok(told[0]?.includes(other), told[0]);
    });
  }

  test('the owner of a home with keys is no conflict', async () => {
    const directories = [{ path: '/home/ada', recursive: { owner: 'ada' } }];
    const body = { host: { users: [{ name: 'ada', sshAuthorizedKeys: [KEY] }], directories } };
    assert.deepEqual(await problemsOf(stringify(body)), []);
  });

  test('validate ends with the exit code of an invalid document, and nothing else is done', async () => {
    using directory = mkdtempDisposableSync(join(tmpdir(), 'machineadm-'));
    const path = join(directory.path, 'document.yaml');
    writeFileSync(path, `${HEADER}${withEntry('files', { path: '/etc/hostname', content: 'x' })}`);
    const { status, stdout } = await commandLine('validate', '-d', path);
    assert.equal(status, 3);
    assert.match(
      stdout,
      /document\.yaml:\d+:\d+ .*\/etc\/hostname is already managed by host\.hostname \(.*document\.yaml:\d+:\d+\)/,
    );
  });
});

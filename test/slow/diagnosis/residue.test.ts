import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { chmodSync, cpSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { before, describe, test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { MAIN } from '../../support/agent.ts';
import { debianCloudInit } from '../../support/debian-cloud-init.ts';
import { inThrowAwayMachine } from '../../support/namespace.ts';
import { needs } from '../../support/needs.ts';

const TOKEN = 'abcdef.0123456789abcdef';
const PASSWORD = 'correct horse "battery" staple';
const DOCUMENT = '/srv/bootstrap.yaml';
const SEED = '/var/lib/cloud/seed/nocloud';
const INSTANCE = '/var/lib/cloud/instances/i-residue';

// Fetched before the network is gone.
const cloudInit = debianCloudInit();

function audit(...options: readonly string[]) {
  const args = [MAIN, 'audit', '--residue', ...options, '--output', 'json', '-d', DOCUMENT];
  const { status, stdout, stderr } = spawnSync(process.execPath, args, { encoding: 'utf8' });
  assert.ok(!`${stdout}${stderr}`.includes('0123456789abcdef') && !stdout.includes('battery'), 'a value is told');
  return { status, report: JSON.parse(stdout), stderr };
}

/** Debian's cloud-init with the modules that a bootstrap uses; the others would want a network and a real machine. */
function runCloudInit(root: string, ...stages: readonly (readonly string[])[]): string {
  let output = '';
  const library = readdirSync(join(root, 'usr/lib'))
    .map((name) => join(root, 'usr/lib', name))
    .join(':');
  const env = {
    PATH: process.env.PATH,
    PYTHONPATH: join(root, 'usr/lib/python3/dist-packages'),
    LD_LIBRARY_PATH: library,
  };
  for (const stage of stages) {
    const done = spawnSync('python3', ['-m', 'cloudinit.cmd.main', ...stage], { encoding: 'utf8', env });
    assert.equal(done.status, 0, `${stage.join(' ')}: ${done.stdout}${done.stderr}`);
    output += done.stdout;
  }
  return output;
}

const ALL_STAGES = [['init', '--local'], ['init'], ['modules', '--mode', 'config'], ['modules', '--mode', 'final']];

inThrowAwayMachine(import.meta.filename, () => {
  const skip = needs(cloudInit);

  describe("the secrets of a document that Debian's cloud-init keeps", { skip }, () => {
    const root = 'root' in cloudInit ? cloudInit.root : '';

    before(() => {
      cpSync(join(root, 'etc/cloud'), '/etc/cloud', { recursive: true });
      writeFileSync(
        '/etc/cloud/cloud.cfg',
        [
          'datasource_list: [NoCloud]',
          'network: {config: disabled}',
          'cloud_init_modules: [write-files]',
          'cloud_config_modules: [runcmd]',
          'cloud_final_modules: [scripts-user]',
          'system_info: {distro: debian, paths: {cloud_dir: /var/lib/cloud/, templates_dir: /etc/cloud/templates/}}',
          '',
        ].join('\n'),
      );
      mkdirSync(SEED, { recursive: true });
      writeFileSync(`${SEED}/meta-data`, 'instance-id: i-residue\nlocal-hostname: node-1\n');
      const packed = gzipSync(`password: ${PASSWORD}\n${'#'.repeat(300)}\n`).toString('base64');
      const userData = [
        '#cloud-config',
        'write_files:',
        '  - path: /srv/join.yaml',
        `    content: "token: ${TOKEN}"`,
        '  - path: /srv/packed.yaml',
        '    encoding: gzip+base64',
        `    content: ${packed}`,
        'runcmd:',
        `  - echo joining with ${TOKEN} >>/srv/joined`,
        `  - cat /srv/joined`,
        '',
      ];
      writeFileSync(`${SEED}/user-data`, userData.join('\n'));
      // As a careless seed is, whatever the umask.
      chmodSync(`${SEED}/user-data`, 0o644);
      writeFileSync(
        DOCUMENT,
        [
          'apiVersion: machineadm.dev/v1alpha1',
          'kind: MachineBootstrap',
          'metadata: {name: node-1}',
          'secrets:',
          `  token: {value: ${TOKEN}}`,
          `  password: {value: '${PASSWORD}'}`,
          'host: {}',
          '',
        ].join('\n'),
      );
      runCloudInit(root, ...ALL_STAGES);
      assert.match(readFileSync('/srv/packed.yaml', 'utf8'), /battery/, 'cloud-init has run');
    });

    test('are found in every place, with their names and the mode', () => {
      const { status, report } = audit();
      assert.equal(status, 20);
      const found = report.residues.map(
        ({ path, secrets }: { path: string; secrets: string[] }) => `${path}: ${[...secrets].sort().join(', ')}`,
      );
      const both = 'secrets.password, secrets.token';
      assert.deepEqual(
        found.sort(),
        [
          `${INSTANCE}/cloud-config.txt: ${both}`,
          `${INSTANCE}/obj.pkl: ${both}`,
          `${INSTANCE}/scripts/runcmd: secrets.token`,
          `${INSTANCE}/user-data.txt.i: ${both}`,
          `${INSTANCE}/user-data.txt: ${both}`,
          `${SEED}/user-data: ${both}`,
          '/var/log/cloud-init-output.log: secrets.token',
        ].sort(),
      );
      const seed = report.residues.find(({ path }: { path: string }) => path === `${SEED}/user-data`);
      assert.deepEqual([seed.tool, seed.mode, seed.worldReadable, seed.state], ['cloud-init', '0644', true, 'Found']);
    });

    test('are overwritten on request, without a file changing its size, owner or mode', () => {
      const paths = audit().report.residues.map(({ path }: { path: string }) => path);
      const looks = () =>
        paths.map((path: string) => [path, statSync(path).size, statSync(path).mode, statSync(path).ino]);
      const earlier = looks();
      const { status, report } = audit('--scrub');
      assert.equal(status, 0);
      assert.deepEqual(new Set(report.residues.map(({ state }: { state: string }) => state)), new Set(['Scrubbed']));
      assert.deepEqual(looks(), earlier);
      assert.deepEqual([audit().status, audit().report.residues], [0, []]);
    });

    test('are gone without an effect on cloud-init: it loads its state and runs nothing of this instance again', () => {
      const joined = readFileSync('/srv/joined', 'utf8');
      const load =
        "import pickle,sys; sys.stdout.write(str(pickle.load(open('/var/lib/cloud/instance/obj.pkl','rb')).get_instance_id()))";
      const env = { PATH: process.env.PATH, PYTHONPATH: join(root, 'usr/lib/python3/dist-packages') };
      assert.equal(spawnSync('python3', ['-c', load], { encoding: 'utf8', env }).stdout, 'i-residue');
      runCloudInit(root, ...ALL_STAGES);
      assert.equal(readFileSync('/srv/joined', 'utf8'), joined);
      assert.match(readFileSync(`${INSTANCE}/cloud-config.txt`, 'utf8'), /token: redacted/);
    });
  });
});

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { openrcBootFile, systemdBootFile } from '../../../../src/host/services/boot-command.ts';

const BOOT = {
  name: 'machineadm-test',
  description: "what's run at 100%",
  command: ['/opt/my agent/machineadm', 'sentinel', "it's", '$HOME', 'a%b', '`id`'],
};

describe('a command at every boot', () => {
  test('is a oneshot unit of systemd', () => {
    const file = systemdBootFile(BOOT);
    assert.equal(file.path, '/etc/systemd/system/machineadm-test.service');
    assert.equal(file.service, 'machineadm-test.service');
    assert.equal(file.mode, 0o644);
    assert.match(file.content, /^Type=oneshot$/m);
    assert.match(file.content, /^LimitCORE=0$/m);
    assert.match(file.content, /^Description=what's run at 100%%$/m);
    assert.match(file.content, /^WantedBy=multi-user\.target$/m);
  });

  test('is skipped, and has not failed, while its program is absent', () => {
    const unit = systemdBootFile({ ...BOOT, command: ['/opt/my agent/100%', 'x'] }).content;
    assert.match(unit, /^ConditionFileIsExecutable=\/opt\/my agent\/100%%$/m);
    const script = openrcBootFile({ ...BOOT, command: ['/nonexistent/my agent', 'x'] }).content;
    const { status, stderr } = spawnSync(
      'sh',
      ['-c', `ebegin() { echo began >&2; }; eend() { return "$1"; }\n${script}\nstart`],
      {
        encoding: 'utf8',
      },
    );
    assert.deepEqual([status, stderr], [0, '']);
  });

  test('is a service script of OpenRC that may be executed', () => {
    const file = openrcBootFile(BOOT);
    assert.equal(file.path, '/etc/init.d/machineadm-test');
    assert.equal(file.service, 'machineadm-test');
    assert.equal(file.mode, 0o755);
    assert.match(file.content, /^#!\/sbin\/openrc-run\n/);
    assert.match(file.content, /^\tafter .*localmount/m);
  });

  test("reaches the program of OpenRC's script unchanged, with its exit status, and its output is kept", () => {
    const directory = mkdtempSync(join(tmpdir(), 'machineadm-boot-'));
    try {
      const probe = join(directory, 'my "agent"');
      writeFileSync(probe, '#!/bin/sh\nprintf "%s|" "$@" ${NODE_OPTIONS-unset} "$(ulimit -c)"\nexit 3\n', {
        mode: 0o755,
      });
      const { content } = openrcBootFile({ ...BOOT, command: [probe, ...BOOT.command.slice(1)] });
      const log = join(directory, 'log');
      const script = content.replace('/var/log/machineadm-test.log', log);
      assert.notEqual(script, content);
      // What openrc-run gives a script: the functions that it calls.
      const run = spawnSync('sh', ['-c', `ebegin() { :; }; eend() { return "$1"; }\n${script}\nstart`], {
        encoding: 'utf8',
        env: { PATH: process.env.PATH, NODE_OPTIONS: '--require /tmp/evil.js' },
      });
      assert.equal(run.status, 3, run.stderr);
      assert.equal(readFileSync(log, 'utf8'), `${[...BOOT.command.slice(1), 'unset', '0'].join('|')}|`);
    } finally {
      rmSync(directory, { recursive: true });
    }
  });
});

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { describe, test } from 'node:test';
import { splitWords, startCommands, Unit, UnitFiles } from '../../../../src/diagnosis/conformance/unit-files.ts';
import { BROKEN_IMAGES } from '../../../support/conformance/broken-images.ts';
import { withImage } from '../../../support/conformance/image.ts';
import { SOUND_IMAGES } from '../../../support/conformance/sound-images.ts';
import { needs } from '../../../support/needs.ts';

const unit = (text: string): Unit => new Unit('/etc/systemd/system/x.service', [text]);

describe('a unit file', () => {
  test('has sections, comments of both kinds, and continued lines', () => {
    const found = unit('[Unit]\n# After=a\n;After=b\nAfter=c \\\n# d\n; e\n  f\n[Service]\nAfter=g\n');
    assert.deepEqual(found.dependencies('After'), ['c', 'f']);
  });

  test('empties a list by an empty value, and no dependency', () => {
    const found = unit('[Unit]\nAfter=a\nAfter=\nAfter=b\n[Service]\nExecStart=/x\nExecStart=\nExecStart=/y\n');
    assert.deepEqual(found.list('Service', 'ExecStart'), ['/y']);
    assert.deepEqual(found.dependencies('After'), ['a', 'b']);
    assert.equal(found.last('Service', 'ExecStop', 'ExecStart'), '/y');
  });

  test('ignores a line that is no assignment', () => {
    assert.deepEqual(unit('After=a\n[Unit]\nAfter\n=b\n\n[Other]\nAfter=c\n').dependencies('After'), []);
  });
});

test('words are held together by quotes and split by spaces', () => {
  assert.deepEqual(splitWords(`a "b c" 'd "e' f\\ g "h\\"i" x="y z"`), ['a', 'b c', 'd "e', 'f g', 'h"i', 'x=y z']);
  assert.deepEqual(splitWords(''), []);
});

test('the variables of a command are those of the unit and of its files', () => {
  const change = { '/etc/default/x': "# A=no\nA=one\nB='two words'\nnoequals\n=empty\n" };
  withImage('host', change, undefined, ({ tree }) => {
    const text =
      '[Service]\nEnvironment="C=three four" D=5\nEnvironmentFile=-/etc/default/x\nExecStart=-@/bin/x $A ${B} $C $MISSING x${D} y${noequal}\n';
    assert.deepEqual(startCommands(tree, unit(text)), [
      {
        program: '/bin/x',
        args: ['one', 'two words', 'three', 'four', 'x5', 'y'],
        variables: ['A', 'B', 'C', 'MISSING', 'D', 'noequal'],
      },
    ]);
  });
});

/**
 * `systemctl is-enabled` tells the links that the administrator made in /etc, and not what a boot starts: here it is asked for
 * less than it says, or says more.
 */
const OF_LINKS_ONLY = [
  'containerd is wanted by a target that no boot starts',
  'both units are enabled below /usr/lib',
  'both units are wanted, and one link to them leads to /dev/null',
  'the kubelet is enabled below /usr/lib',
  'containerd is wanted by the unit of the kubelet',
  'the kubelet is enabled under another name',
];

describe('the enabled state of a unit is what systemctl reports', {
  skip: needs('systemctl'),
}, () => {
  const images = [...BROKEN_IMAGES, ...SOUND_IMAGES].filter(
    ({ what, base, change }) =>
      base !== 'windows' &&
      !OF_LINKS_ONLY.includes(what) &&
      Object.keys(change).some((path) => /\/(kubelet|containerd|machineadm-provision)\.service$/.test(path)),
  );
  for (const { what, base, change } of images) {
    test(what, () => {
      withImage(base, change, undefined, ({ units }, root) => {
        for (const name of ['kubelet.service', 'containerd.service', 'machineadm-provision.service']) {
          const { stdout } = spawnSync('systemctl', [`--root=${root}`, 'is-enabled', name], { encoding: 'utf8' });
          const told = stdout.trim().split('\n')[0] ?? '';
          const expected =
            { enabled: 'enabled', masked: 'masked', '': 'missing', 'not-found': 'missing' }[told] ?? 'disabled';
          assert.equal(units.enablement(name), expected, `${name}: systemctl says "${told}"`);
        }
      });
    });
  }

  test('in several images', () => assert.ok(images.length > 10));
});

describe('the directories of units', () => {
  // systemd.unit(5), "UNIT FILE LOAD PATH" of the system manager; generator output by systemd.generator(7).
  const ORDER = [
    '/etc/systemd/system.control',
    '/run/systemd/system.control',
    '/run/systemd/transient',
    '/run/systemd/generator.early',
    '/etc/systemd/system',
    '/etc/systemd/system.attached',
    '/run/systemd/system',
    '/run/systemd/system.attached',
    '/run/systemd/generator',
    '/usr/local/lib/systemd/system',
    '/usr/lib/systemd/system',
    '/run/systemd/generator.late',
  ];
  const descriptionIn = (directories: readonly string[]): string | undefined => {
    const files = directories.map((directory) => [`${directory}/sample.service`, `[Unit]\nDescription=${directory}\n`]);
    return withImage('host', Object.fromEntries(files), undefined, ({ tree }) =>
      new UnitFiles(tree).load('sample.service')?.last('Unit', 'Description'),
    );
  };

  test('are searched in their order, and the first with the unit wins', () => {
    for (const [index, directory] of ORDER.entries()) assert.equal(descriptionIn(ORDER.slice(index)), directory);
  });
});

describe('what a boot starts', () => {
  const enablementOf = (files: Parameters<typeof withImage>[1]) =>
    withImage(
      'host',
      { '/usr/lib/systemd/system/sample.service': '[Service]\nExecStart=/x\n', ...files },
      undefined,
      ({ tree }) => new UnitFiles(tree).enablement('sample.service'),
    );

  for (const target of ['default.target', 'sysinit.target', 'basic.target', 'cloud-init.target'])
    for (const folder of ['wants', 'requires', 'upholds'])
      test(`is linked in ${target}.${folder}`, () => {
        const link = { link: '/usr/lib/systemd/system/sample.service' };
        assert.equal(enablementOf({ [`/etc/systemd/system/${target}.${folder}/sample.service`]: link }), 'enabled');
      });

  for (const setting of ['Wants', 'Requires', 'BindsTo', 'Upholds'])
    test(`is named in ${setting}= of what is started`, () => {
      const text = `[Unit]\n${setting}=sample.service\n`;
      assert.equal(
        enablementOf({ '/etc/systemd/system/basic.target.d/10.conf': '', '/etc/systemd/system/basic.target': text }),
        'enabled',
      );
    });

  test('is nothing that is only ordered after it, and nothing that is masked', () => {
    assert.equal(enablementOf({ '/etc/systemd/system/basic.target': '[Unit]\nAfter=sample.service\n' }), 'disabled');
    assert.equal(enablementOf({}), 'disabled');
    assert.equal(enablementOf({ '/etc/systemd/system/sample.service': { link: '/dev/null' } }), 'masked');
    assert.equal(enablementOf({ '/etc/systemd/system/sample.service': '' }), 'masked');
    assert.equal(enablementOf({ '/usr/lib/systemd/system/sample.service': undefined }), 'missing');
  });
});

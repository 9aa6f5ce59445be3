import {
  chmodSync,
  chownSync,
  closeSync,
  constants,
  existsSync,
  lchownSync,
  linkSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, afterEach, before, beforeEach, describe, test } from 'node:test';
import { files } from '../../src/features/files/index.ts';
import { overwrite } from '../../src/host/linux/overwrite.ts';
import { openAppendLog, replaceLog } from '../../src/host/local-files/append-log.ts';
import { writeOutputFile } from '../../src/host/local-files/output-file.ts';
import { placeVerified } from '../../src/host/local-files/release-files.ts';
import { linuxHost } from '../../src/host/machine/linux-host.ts';
import { ATTACKER_UID, runRace } from '../support/attacks.ts';
import { loaded } from '../support/document.ts';
import { needs } from '../support/needs.ts';
import { planned } from '../support/run-step.ts';
import { told } from '../support/step-bench.ts';

const SECRET = 'root:$y$j9T$only-root-may-read-this:20000::::::\n';

/**
 * The directory `swap` of an unprivileged user is exchanged all the time with the link `link` to a directory of root.
 * Commit d1bb8c1 lost these races within 51 tries.
 */
describe('an unprivileged user replaces a directory with a link to one of root', {
  skip: needs('root', 'python3'),
}, () => {
  const host = linuxHost({ runId: 'attack' });
  let base: string;
  let home: string;
  let target: string;
  /** The attacker's directory, by whichever name it has now. */
  let own: string;
  let descriptor: number;

  before(() => {
    base = mkdtempSync(join(tmpdir(), 'machineadm-attack-'));
    chmodSync(base, 0o755);
  });
  after(() => rmSync(base, { recursive: true }));
  beforeEach(() => {
    for (const name of readdirSync(base)) rmSync(join(base, name), { recursive: true });
    home = join(base, 'home');
    target = join(base, 'target');
    for (const path of [target, home, join(home, 'swap')]) mkdirSync(path, { mode: 0o755 });
    symlinkSync(target, join(home, 'link'));
    for (const path of [home, join(home, 'swap'), join(home, 'link')]) lchownSync(path, ATTACKER_UID, ATTACKER_UID);
    descriptor = openSync(join(home, 'swap'), constants.O_DIRECTORY);
    own = `/proc/self/fd/${descriptor}`;
  });
  afterEach(() => closeSync(descriptor));

  const exchanged = () => ({ directory: home, names: ['swap', 'link'] as const });
  /** A file of root in the target and, for the tries that meet the directory, one of the attacker. */
  const plant = (): void => {
    writeFileSync(join(target, 'file'), SECRET, { mode: 0o600 });
    writeFileSync(join(home, 'swap', 'file'), 'mine\n', { mode: 0o644 });
    chownSync(join(home, 'swap', 'file'), ATTACKER_UID, ATTACKER_UID);
  };
  const inTarget = (name: string) => () => {
    const path = join(target, name);
    if (!existsSync(path)) return false;
    rmSync(path, { recursive: true });
    return true;
  };

  test('write: no file of root appears where the link leads', async (t) => {
    const path = join(home, 'swap', 'authorized_keys');
    await runRace(t, {
      attack: 'host.files writes below a directory that is exchanged with a link',
      ...exchanged(),
      victim: () => host.writeFile({ path, content: 'ssh-ed25519 AAAA attacker\n', mode: 0o600 }),
      isWon: inTarget('authorized_keys'),
    });
  });

  test('write with missing parents: none is made where the link leads', async (t) => {
    const path = join(home, 'swap', 'new', 'deep', 'file');
    await runRace(t, {
      attack: 'host.files makes the parents of a file below a directory that is exchanged with a link',
      ...exchanged(),
      victim: async () => {
        rmSync(join(own, 'new'), { recursive: true, force: true });
        await host.writeFile({ path, content: '', mode: 0o600 });
      },
      isWon: inTarget('new'),
    });
  });

  test('mkdir: no directory appears where the link leads', async (t) => {
    const path = join(home, 'swap', 'made', 'below');
    await runRace(t, {
      attack: 'a directory is made below one that is exchanged with a link',
      ...exchanged(),
      victim: () => {
        rmSync(join(own, 'made'), { recursive: true, force: true });
        return host.makeDirectory(path, 0o755);
      },
      isWon: inTarget('made'),
    });
  });

  test('chmod: no file of root changes its mode', async (t) => {
    plant();
    await runRace(t, {
      attack: 'the mode of a file is changed below a directory that is exchanged with a link',
      ...exchanged(),
      victim: () => host.chmod(join(home, 'swap', 'file'), 0o666),
      isWon: () => {
        if ((statSync(join(target, 'file')).mode & 0o777) === 0o600) return false;
        chmodSync(join(target, 'file'), 0o600);
        return true;
      },
    });
  });

  test('chown: no file of root changes its owner', async (t) => {
    plant();
    await runRace(t, {
      attack: 'a file is given to a user below a directory that is exchanged with a link',
      ...exchanged(),
      victim: () => host.chown(join(home, 'swap', 'file'), ATTACKER_UID, ATTACKER_UID),
      isWon: () => {
        if (statSync(join(target, 'file')).uid === 0) return false;
        chownSync(join(target, 'file'), 0, 0);
        return true;
      },
    });
  });

  test('remove: no file of root is removed', async (t) => {
    plant();
    await runRace(t, {
      attack: 'a file is removed below a directory that is exchanged with a link',
      ...exchanged(),
      victim: () => host.removeFile(join(home, 'swap', 'file')),
      isWon: () => {
        if (existsSync(join(target, 'file'))) return false;
        plantTarget();
        return true;
      },
    });
  });
  const plantTarget = (): void => writeFileSync(join(target, 'file'), SECRET, { mode: 0o600 });

  test('read: no content of root is read for the user', async (t) => {
    plant();
    let read: string | undefined;
    await runRace(t, {
      attack: 'a file is read below a directory that is exchanged with a link',
      ...exchanged(),
      victim: async () => {
        read = undefined;
        read = await host.readText(join(home, 'swap', 'file'));
      },
      isWon: () => read === SECRET,
    });
  });

  test('scrub: no byte of a file of root is overwritten', async (t) => {
    const [present, wanted] = [SECRET, SECRET.replace(/only-root/, 'XXXXXXXXX')].map((text) => Buffer.from(text));
    plant();
    writeFileSync(join(home, 'swap', 'file'), SECRET);
    await runRace(t, {
      attack: 'a secret is scrubbed below a directory that is exchanged with a link',
      ...exchanged(),
      victim: async () => {
        writeFileSync(join(own, 'file'), SECRET);
        await overwrite(join(home, 'swap', 'file'), present ?? Buffer.alloc(0), wanted ?? Buffer.alloc(0));
      },
      isWon: () => {
        if (readFileSync(join(target, 'file'), 'utf8') === SECRET) return false;
        plantTarget();
        return true;
      },
    });
  });

  test('append: what only root may read does not reach a file of the user', async (t) => {
    writeFileSync(join(target, 'notes'), SECRET, { mode: 0o600 });
    const owner = `'${ATTACKER_UID}:${ATTACKER_UID}'`;
    const path = join(home, 'swap', 'notes');
    const { model } = await loaded(
      `host: {files: [{path: ${path}, append: true, content: "a line\\n", owner: ${owner}, mode: '0644'}]}`,
    );
    await runRace(t, {
      attack: 'host.files appends to a file below a directory that is exchanged with a link',
      ...exchanged(),
      victim: async () => {
        writeFileSync(join(own, 'notes'), 'mine\n');
        chownSync(join(own, 'notes'), ATTACKER_UID, ATTACKER_UID);
        // Without the flush at the end of the step, which starts a process for each try.
        for (const change of await planned(files, host, model)) await files.apply(host, change, told());
      },
      isWon: () => {
        const stolen = readFileSync(join(own, 'notes'), 'utf8').includes(SECRET);
        const damaged = readFileSync(join(target, 'notes'), 'utf8') !== SECRET;
        writeFileSync(join(target, 'notes'), SECRET, { mode: 0o600 });
        return stolen || damaged;
      },
    });
  });

  test('output: what a command writes for its caller does not appear where the link leads', async (t) => {
    await runRace(t, {
      attack: 'wrap --to and bundle -o write below a directory that is exchanged with a link',
      ...exchanged(),
      victim: async () => writeOutputFile(join(home, 'swap', 'user-data'), 'secret', '--to'),
      isWon: inTarget('user-data'),
    });
  });

  test('fetch: nothing that was verified is put where the link leads', async (t) => {
    await runRace(t, {
      attack: 'fetch --to writes into a directory below one that is exchanged with a link',
      ...exchanged(),
      // A directory of the user himself is refused, whichever of the two it finds.
      isAlwaysRefused: true,
      victim: () => placeVerified(join(home, 'swap', 'machineadm'), oneByOne('program'), () => undefined),
      isWon: inTarget('machineadm'),
    });
  });

  test('journal: no journal is created or continued where the link leads', async (t) => {
    writeFileSync(join(target, 'journal'), SECRET, { mode: 0o600 });
    await runRace(t, {
      attack: 'a journal is continued and replaced below a directory that is exchanged with a link',
      ...exchanged(),
      isAlwaysRefused: true,
      victim: async () => {
        replaceLog(join(home, 'swap', 'journal'), '{}', undefined);
        openAppendLog(join(home, 'swap', 'journal')).close();
      },
      isWon: () => readFileSync(join(target, 'journal'), 'utf8') !== SECRET,
    });
  });
});

/** The attacker has linked a file of root into his directory: where fs.protected_hardlinks is 0, any user can. */
describe('an unprivileged user replaces a file with a hard link to one of root', {
  skip: needs('root', 'python3'),
}, () => {
  const host = linuxHost({ runId: 'attack' });
  let base: string;
  let home: string;
  let secret: string;

  before(() => {
    base = mkdtempSync(join(tmpdir(), 'machineadm-attack-'));
    chmodSync(base, 0o755);
    home = join(base, 'home');
    secret = join(base, 'secret');
    mkdirSync(home);
    writeFileSync(secret, SECRET, { mode: 0o600 });
    writeFileSync(join(home, 'mine'), SECRET.replace('root:', 'mine:'), { mode: 0o600 });
    linkSync(secret, join(home, 'hard'));
    for (const path of [home, join(home, 'mine')]) chownSync(path, ATTACKER_UID, ATTACKER_UID);
  });
  after(() => rmSync(base, { recursive: true }));

  const exchanged = () => ({ directory: home, names: ['mine', 'hard'] as const });

  test('chmod and chown: the file of root keeps its mode and owner', async (t) => {
    await runRace(t, {
      attack: 'mode and owner of a file are changed that is exchanged with a hard link to one of root',
      ...exchanged(),
      victim: async () => {
        await host.chmod(join(home, 'mine'), 0o644);
        await host.chown(join(home, 'mine'), ATTACKER_UID, ATTACKER_UID);
      },
      isWon: () => {
        const { mode, uid } = statSync(secret);
        chmodSync(secret, 0o600);
        chownSync(secret, 0, 0);
        return (mode & 0o777) !== 0o600 || uid !== 0;
      },
    });
  });

  test('read: the content of the file of root is not read for the user', async (t) => {
    let read: string | undefined;
    await runRace(t, {
      attack: 'a file is read that is exchanged with a hard link to one of root',
      ...exchanged(),
      victim: async () => {
        read = undefined;
        read = await host.readText(join(home, 'mine'));
      },
      isWon: () => read === SECRET,
    });
  });

  test('scrub: the file of root is not overwritten', async (t) => {
    let [present, wanted] = ['mine:', 'XXXX:'].map((name) => Buffer.from(SECRET.replace('root:', name))) as [
      Buffer,
      Buffer,
    ];
    await runRace(t, {
      attack: 'a secret is scrubbed in a file that is exchanged with a hard link to one of root',
      ...exchanged(),
      victim: async () => {
        await overwrite(join(home, 'mine'), present, wanted);
        [present, wanted] = [wanted, present];
      },
      isWon: () => readFileSync(secret, 'utf8') !== SECRET,
    });
  });
});

async function* oneByOne(text: string): AsyncGenerator<Uint8Array> {
  yield Buffer.from(text);
}

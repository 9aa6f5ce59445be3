import assert from 'node:assert/strict';
import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { gunzipSync } from 'node:zlib';
import { agent, startAgent } from '../support/agent.ts';
import { ATTACKS_SKIP, reportAttack } from '../support/attacks.ts';
import { ENCODINGS } from '../support/encodings.ts';
import { inThrowAwayMachine } from '../support/namespace.ts';
import { freshMachine } from '../support/sink-faults.ts';

const DOCUMENT = '/tmp/canaries.yaml';
const RECEIVED = '/tmp/received';
const BUNDLE = '/tmp/canaries.tar.gz';

/** A value that is nowhere else: found outside of its target, it came from there. Lower case and digits, as many tokens are. */
function canary(place: string): string {
  let state = 0x811c9dc5;
  let value = '';
  for (let index = 0; value.length < 24; index += 1) {
    for (const letter of `${place}${index}`) state = Math.imul(state ^ letter.charCodeAt(0), 0x01000193) >>> 0;
    value += state.toString(36);
  }
  return `q7${value.slice(0, 22)}`;
}

const PLACES: string[] = [];
const at = (place: string): string => {
  if (!PLACES.includes(place)) PLACES.push(place);
  return canary(place);
};

/** What a program that a hook runs may do with its secret: print it in every encoding that a shell has. */
const PRINTS = [
  'cat "$F"',
  'base64 -w0 "$F"',
  '{ printf x; cat "$F"; } | base64 -w0',
  '{ printf xy; cat "$F"; } | base64 -w0',
  'base64 -w0 "$F" | tr +/ -_',
  'od -An -v -tx1 "$F" | tr -d " \\n"',
  'od -An -v -to1 "$F" | sed "s/ /\\\\\\\\/g" | tr -d "\\n"',
  'sed "s/[0-9]/%3&/g" "$F"',
  'printf \'{"inner":"{\\\\"v\\\\":\\\\"%s\\\\"}"}\' "$(cat "$F")"',
  'base64 -w0 "$F" | base64 -w0',
  'printf "<v>%s</v>" "$(sed "s/[0-9]/\\&#x3&;/g" "$F")"',
  'printf "v: \'%s\'" "$(cat "$F")"',
];

function documentOf(last: string): unknown {
  const declared = Array.from({ length: 12 }, (_, index) => `declared${index}`);
  const prints = declared.map(
    (_, index) => `F=$SECRET_${index}; ${PRINTS[index % PRINTS.length]}; echo " print ${index}"`,
  );
  const http = (place: string) => ({
    url: `http://127.0.0.1:9/${place}`,
    headers: { 'x-any': at(`headers of ${place}`) },
  });
  return {
    apiVersion: 'machineadm.dev/v1alpha1',
    kind: 'MachineBootstrap',
    metadata: { name: 'canaries' },
    secrets: {
      ...Object.fromEntries(declared.map((name) => [name, { value: at(name) }])),
      unused: { value: at('an unused secret') },
      served: { http: http('a secret from a server') },
    },
    host: {
      files: [
        { path: '/tmp/canary-content', mode: '0600', content: `key=${at('content of a file of its owner')}\n` },
        { path: '/tmp/canary-append', mode: '0600', append: true, content: `token ${at('what is added to a file')}\n` },
        { path: '/tmp/canary-secret', contentFrom: { secret: 'declared0' } },
        {
          path: '/tmp/canary-encoded',
          mode: '0400',
          encoding: 'base64',
          content: Buffer.from(at('encoded content')).toString('base64'),
        },
      ],
      hooks: {
        early: {
          environment: { ANY: at('environment of a hook') },
          secrets: Object.fromEntries(declared.map((name, index) => [`SECRET_${index}`, { secret: name }])),
          commands: [
            `: curl -H "Authorization: Bearer ${at('bearer in a command')}" https://x.example`,
            `: --password ${at('flag in a command')}`,
            `: PASSWORD=${at('assignment in a command')}`,
            `: https://user:${at('URL in a command')}@x.example/p?sig=${at('query in a command')}`,
            `echo token=${at('what a command prints')} "$ANY"`,
            `set -x; : ${at('what a trace shows')}; set +x`,
            ...prints,
            last,
          ],
        },
      },
    },
    reporting: {
      sinks: [
        { type: 'Exec', command: ['sh', '-c', `cat >>${RECEIVED}`], environment: { V: at('environment of a sink') } },
        { type: 'Webhook', ...http('a webhook') },
        { type: 'Webhook', url: `http://user:${at('user of a URL')}@127.0.0.1:9/p?token=${at('query of a URL')}` },
        { type: 'OTLP', ...http('traces') },
      ],
    },
  };
}

/** Places and encodings of canaries that a text holds. */
function leaksIn(where: string, text: string): string[] {
  return PLACES.flatMap((place) =>
    ENCODINGS.flatMap(({ name, encode }) => {
      // At other offsets the first and the last digit of base64 belong to the neighbours as well.
      const written = name.startsWith('base64') ? encode(canary(place)).slice(4, -4) : encode(canary(place));
      return written.length >= 16 && text.includes(written) ? [`${where}: ${place} as ${name}`] : [];
    }),
  );
}

function filesBelow(directory: string): string[] {
  if (!existsSync(directory)) return [];
  return readdirSync(directory, { recursive: true, encoding: 'utf8' })
    .map((name) => join(directory, name))
    .filter((path) => statSync(path, { throwIfNoEntry: false })?.isFile() === true);
}

/** What a run leaves: its state, its reports, and what a sink was given. The spool is for sinks and holds their headers. */
function leftBehind(): string[] {
  const files = [...filesBelow('/run/machineadm'), ...filesBelow('/var/lib/machineadm'), RECEIVED].filter(
    (path) => existsSync(path) && (statSync(path).mode & 0o044) !== 0,
  );
  return files.flatMap((path) => leaksIn(path, readFileSync(path, 'latin1')));
}

inThrowAwayMachine(import.meta.filename, () => {
  describe('secrets are found nowhere but where they belong', { skip: ATTACKS_SKIP }, () => {
    beforeEach(freshMachine);

    const write = (last = 'true'): void => writeFileSync(DOCUMENT, JSON.stringify(documentOf(last)), { mode: 0o600 });
    const run = async (args: readonly string[], expected?: number): Promise<string[]> => {
      const { stdout, stderr, status } = await agent(args);
      if (expected !== undefined) assert.equal(status, expected, stderr);
      else assert.ok(status !== null && ![1, 2, 3].includes(status), `${args.join(' ')}: ${status} ${stderr}`);
      // The search is worth nothing where nothing was printed.
      if (args[0] === 'provision') {
        assert.ok(stderr.includes('[redacted]'), stderr);
        for (let index = 0; index < 12; index += 1)
          assert.match(stderr, new RegExp(`\\[redacted\\].* print ${index}$`, 'm'));
      }
      return leaksIn(args.join(' '), stdout + stderr);
    };
    const report = (attack: string, leaks: readonly string[], outputs: number): void => {
      for (const leak of leaks) console.log(`leak: ${leak}`);
      reportAttack({ kind: 'Canaries', attack, tries: PLACES.length * ENCODINGS.length * outputs, wins: leaks.length });
    };

    test('the search finds them where they belong', () => {
      write('false');
      assert.deepEqual(
        new Set(leaksIn('', readFileSync(DOCUMENT, 'utf8')).map((leak) => leak.slice(2).split(' as ')[0])).size,
        PLACES.length,
      );
      for (const { name, encode } of ENCODINGS)
        assert.notDeepEqual(leaksIn('', `x ${encode(canary('declared0'))} y`), [], name);
    });

    test('by what changes nothing: validate, plan, config show', async () => {
      write();
      const commands = [
        ['validate', '-d', DOCUMENT],
        ['plan', '-d', DOCUMENT],
        ['plan', '-d', DOCUMENT, '-o', 'json'],
        ['config', 'show', '-d', DOCUMENT],
        ['config', 'show', '-d', DOCUMENT, '-o', 'json'],
        ['config', 'show', '--origin', '-d', DOCUMENT],
        ['config', 'show', '--origin', '-d', DOCUMENT, '-o', 'json'],
      ];
      const leaks: string[] = [];
      for (const args of commands) leaks.push(...(await run(args)));
      report('a command that changes nothing', leaks, commands.length);
    });

    for (const [outcome, last, exit] of [
      ['succeeds', 'true', 0],
      ['fails', 'echo the last words; exit 7', 10],
    ] as const) {
      test(`by a run that ${outcome}, and by what tells of it`, async () => {
        write(last);
        const commands = [
          ['provision', '-d', DOCUMENT],
          ['status'],
          ['status', '-o', 'json'],
          ['timeline'],
          ['diagnose'],
          ['plan', '-d', DOCUMENT],
        ];
        const leaks: string[] = [];
        for (const args of commands) leaks.push(...(await run(args, args[0] === 'provision' ? exit : undefined)));
        await agent(['bundle', '-d', DOCUMENT, '-o', BUNDLE]);
        if (existsSync(BUNDLE)) leaks.push(...leaksIn('bundle', gunzipSync(readFileSync(BUNDLE)).toString('latin1')));
        else throw new Error('there is no bundle');
        report(`a run that ${outcome}`, [...leaks, ...leftBehind()], commands.length + 1);
      });
    }

    test('by a run that is killed', async () => {
      write('touch /tmp/in-the-last; sleep 30');
      const started = startAgent(['provision', '-d', DOCUMENT]);
      started.stdin.end();
      for (let count = 0; !existsSync('/tmp/in-the-last') && count < 1500; count += 1) await sleep(20);
      started.kill('SIGKILL');
      const { stdout, stderr } = await started.ended;
      const leaks = [...leaksIn('provision', stdout + stderr), ...(await run(['status'])), ...leftBehind()];
      report('a run that is killed', leaks, 3);
    });
  });
});

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { directoryAddressStep } from '../../../../src/features/active-directory/directory-address.ts';
import { membership } from '../../../support/active-directory.ts';
import { hostModel } from '../../../support/host-model.ts';
import { memoryHost } from '../../../support/memory-host.ts';
import { bench } from '../../../support/step-bench.ts';

/** A machine whose name server has these addresses of it, and takes updates or does not. */
function machine({ registered = [] as string[], takes = true, reached = true, ticket = true } = {}) {
  const updates: string[] = [];
  const host = memoryHost({
    programs: {
      rm: () => ({}),
      kinit: () => (ticket ? {} : { status: 1, stderr: 'kinit: Keytab contains no suitable keys\n' }),
      dig: ({ args }) => ({
        stdout: args.includes('SOA')
          ? 'dc1.corp.example.com. admin.corp. 7 900 600 86400 3600\n'
          : registered.join('\n'),
      }),
      nsupdate: ({ input }) => {
        updates.push(typeof input === 'string' ? input : '');
        if (takes) registered.push('10.0.0.9');
        return {
          status: 2,
          stderr: takes ? '; TSIG error with server: tsig verify failure\n' : 'update failed: REFUSED\n',
        };
      },
    },
  });
  const step = directoryAddressStep(async () => ({
    controllers: async () => ['dc1.corp.example.com'],
    ownAddress: async () => (reached ? '10.0.0.9' : undefined),
  }));
  const model = hostModel({ activeDirectory: membership({ registersAddress: true }) });
  return { host, updates, step: bench(step, host, model) };
}

describe('the address of the machine in the DNS of its domain', () => {
  test('is sent to the primary server of the zone with a ticket, whatever nsupdate makes of the answer', async () => {
    const { step, updates } = machine({ registered: ['10.0.0.7'] });
    assert.deepEqual(
      (await step.plan()).map(({ id, summary }) => [id, summary]),
      [['directory-address/register', 'register 10.0.0.9 for node-1.corp.example.com']],
    );
    const { notes } = await step.apply();
    assert.deepEqual(updates, [
      'server dc1.corp.example.com\nupdate delete node-1.corp.example.com. A\nupdate add node-1.corp.example.com. 1200 A 10.0.0.9\nsend\n',
    ]);
    assert.deepEqual(notes, [{ server: 'dc1.corp.example.com' }]);
    assert.deepEqual(await step.plan(), []);
  });

  test('is left alone where it is right', async () => {
    assert.deepEqual(await machine({ registered: ['10.0.0.9'] }).step.plan(), []);
  });

  test('is no success where no controller is reached', async () => {
    const away = machine({ reached: false });
    assert.deepEqual(
      (await away.step.plan()).map(({ summary }) => summary),
      ['register the address of this machine for node-1.corp.example.com'],
    );
    await assert.rejects(away.step.apply(), { reason: 'DomainAddressNotRegistered', retryable: true });
    assert.deepEqual(away.updates, []);
  });

  test('is no success without a ticket, and the server gets no update then', async () => {
    const { step, updates } = machine({ ticket: false });
    await assert.rejects(
      step.apply(),
      (error: { reason: string; evidence: readonly { source: string; text: string }[] }) => {
        assert.equal(error.reason, 'DomainAddressNotRegistered');
        const [found] = error.evidence;
        assert.match(found?.source ?? '', /kinit/);
        assert.match(found?.text ?? '', /Keytab contains no suitable keys/);
        return true;
      },
    );
    assert.deepEqual(updates, []);
  });

  test('needs the programs of Kerberos and DNS, each reported with its package', async () => {
    const step = directoryAddressStep(async () => ({ controllers: async () => [], ownAddress: async () => undefined }));
    const model = hostModel({ activeDirectory: membership({ registersAddress: true }) });
    const missing = await bench(step, memoryHost(), model).preflight();
    assert.deepEqual(
      missing.map(({ reason, what, remedy }) => [reason, what.split(' ')[0], remedy]),
      [
        ['ActiveDirectoryToolMissing', 'nsupdate', 'Install it in the image (Debian: bind9-dnsutils).'],
        ['ActiveDirectoryToolMissing', 'dig', 'Install it in the image (Debian: bind9-dnsutils).'],
        ['ActiveDirectoryToolMissing', 'kinit', 'Install it in the image (Debian: krb5-user).'],
      ],
    );
    const programs = { kinit: () => ({}), dig: () => ({}), nsupdate: () => ({}) };
    assert.deepEqual(await bench(step, memoryHost({ programs }), model).preflight(), []);
    assert.equal(bench(step, memoryHost(), model, { platform: 'windows' }).desired, undefined);
  });

  test('that the server does not take is no success: DomainAddressNotRegistered', async () => {
    await assert.rejects(machine({ takes: false }).step.apply(), (error: { reason: string; evidence: unknown }) => {
      assert.equal(error.reason, 'DomainAddressNotRegistered');
      assert.deepEqual(error.evidence, [{ source: 'nsupdate', text: 'update failed: REFUSED' }]);
      return true;
    });
  });
});

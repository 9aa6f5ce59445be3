import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { Verbatim } from '@machineadm/document/values/verbatim.ts';
import { parse, stringify, TomlDate } from 'smol-toml';
import { mergeTables, sameTables } from '../../../../src/container-runtime/toml-tree.ts';
import { assertEffective } from '../../../../src/features/containerd/effective.ts';
import { parseTable, tableText, toTable } from '../../../../src/features/containerd/toml-text.ts';
import fc from '../../../support/property.ts';

describe('TOML that is merged into', () => {
  const literals = [
    ...['1.0', '-0.0', '1e6', '1_000', '0x10', '0o17', '0b11', 'inf', '-inf', 'nan', '+1', '9223372036854775807'],
    ...['1979-05-27T07:32:00Z', '1979-05-27T00:32:00.999999-07:00', '1979-05-27T07:32:00', '1979-05-27', '07:32:00'],
    ...['1979-05-27 07:32:00Z', '0.50', '3.0e2', '1_0.5'],
  ];
  for (const literal of literals) {
    test(`${literal} stays as it is, wherever it stands`, async () => {
      const text = `a = ${literal}\nb = [${literal}, [ ${literal} ], {c = ${literal}, d = 1}] # ${literal}\n[t.2020-01-01]\n"e = 2.0" = "x = ${literal}"\n`;
      const table = await parseTable(text);
      assert.ok(table.a instanceof Verbatim);
      assert.equal(table.a.text, literal);
      const written = await tableText(table);
      assert.equal(written.split(literal).length - 1, 5, written);
      assert.ok(sameTables(await parseTable(written), table));
    });
  }

  test('what JavaScript keeps stays what it was', async () => {
    const table = await parseTable('version = 2\nx = 1.5\n"1.0" = true\n2.0 = "1.0"\n[1.0.y]\nz = """\na = 1.0\n"""\n');
    assert.deepEqual(
      table,
      toTable(parse('version = 2\nx = 1.5\n"1.0" = true\n2.0 = "1.0"\n[1.0.y]\nz = """\na = 1.0\n"""\n')),
    );
  });

  test('any text of the library is read as the library reads it, and written back', async () => {
    const key = fc.constantFrom('a', 'b c', '1.0', 'é', '', '2020-01-01');
    const scalar = fc.oneof(
      fc.string(),
      fc.boolean(),
      fc.maxSafeInteger().map(BigInt),
      fc.double({ noNaN: true }),
      fc.constant('it\'s """ = 1.0 # [x'),
      fc.date({ noInvalidDate: true, min: new Date(0), max: new Date('9000-01-01') }).map((date) => new TomlDate(date)),
    );
    const { table } = fc.letrec<{ table: Record<string, unknown>; value: unknown }>((tie) => ({
      table: fc.dictionary(key, tie('value'), { maxKeys: 4 }),
      value: fc.oneof(
        { depthSize: 'small' },
        scalar,
        fc.array(scalar, { maxLength: 3 }),
        tie('table'),
        fc.array(tie('table'), { maxLength: 2 }),
      ),
    }));
    await fc.assert(
      fc.asyncProperty(table, async (value) => {
        const text = stringify(value, { numbersAsFloat: true });
        const exact = { integersAsBigInt: true } as const;
        const written = await tableText(await parseTable(text));
        assert.deepEqual(parse(written, exact), parse(text, exact), text);
      }),
      { numRuns: 300 },
    );
  });

  test('the document may add numbers of its own, as YAML writes them', async () => {
    const found = await parseTable('[debug]\nlevel = 1.0\n');
    const over = {
      debug: {
        a: new Verbatim('.5'),
        b: new Verbatim('-.inf'),
        c: new Verbatim('007'),
        d: new Verbatim('1.'),
        e: new Verbatim('1e21'),
      },
    };
    const text = await tableText(mergeTables(found, over));
    assert.equal(text.trim(), '[debug]\nlevel = 1.0\na = 0.5\nb = -inf\nc = 7\nd = 1.0\ne = 1e21');
  });

  test('containerd may print an amount in another form', async () => {
    const ours = await parseTable('a = 1e3\nb = 16_384\nc = 0x10\nd = 0.0\ne = 9223372036854775807\n');
    assertEffective(ours, await parseTable('a = 1000.0\nb = 16384\nc = 16\ne = 9223372036854775807\n'), []);
    const other = await parseTable('a = 1000.0\nb = 16384\nc = 16\ne = 9223372036854775806\n');
    assert.throws(() => assertEffective(ours, other, []), { reason: 'ContainerdConfigNotEffective' });
  });
});

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { attack } from '../support/attacks.ts';
import { composedExpressions, literalsIn, SOURCES } from '../support/expressions.ts';
import { superlinearParts } from '../support/regexp-growth.ts';

describe('the judge of regular expressions', () => {
  const cases: readonly (readonly [RegExp, readonly string[]])[] = [
    [/a+/, []],
    [/a+$/, ['a+']],
    [/(?<!a)a+$/, []],
    [/(a+)+$/, ['(a+)+', 'a+']],
    [/^(a|a)*$/, ['(a|a)*']],
    [/^(a|b)*$/, []],
    [/^(?:a?b?)*c/, ['(?:a?b?)*']],
    [/"[^"]*"/, []],
    [/x.*y/, ['.*']],
    [/x.{0,50}y/, []],
    [/^.*y/, []],
    [/^.*y.*z/, ['.*']],
    [/^.*y/m, []],
    [/^\s*y/m, ['\\s*']],
    [/^[^\S\n]*y/m, ['[^\\S\\n]*']],
    [/^[ \t]*y/m, []],
    [/=\S+ \S+$/, ['\\S+']],
    [/foo \S+: bar/, []],
    [/^\s*(.*?)\s*$/, ['.*?', '\\s*']],
    [/\b\w+:/, []],
    [/\w+:/, ['\\w+']],
    [/\w+:/y, []],
    [/(?<=a)b+c/, []],
    [/^(\w+\.)+$/, []],
    [/^(\w+\.?)+$/, ['(\\w+\\.?)+', '\\w+']],
    [/^(?!.*a).*b/, []],
    [/^(.*)x\1$/, ['\\1']],
    [/^(?:ab)*[abc]*z/, ['[abc]*']],
    [/^(?:ab)*(?:ac)*z/, []],
    [/^(?:ab)*(?:abc?)*z/, ['(?:abc?)*']],
    [/^(?:0*:)*:?0*1$/, []],
    [/^(?:\.[a-z](?:[-a-z]*[a-z])?)*$/, []],
    [/^[a-z](?:[-a-z]*[a-z])?(?:\.[a-z](?:[-a-z]*[a-z])?)*$/, []],
    [/^[a-z]*[a-z][-a-z]*$/, ['[-a-z]*']],
    [/^(?:\.[a-z](?:[-a-z.]*[a-z])?)*$/, ['(?:\\.[a-z](?:[-a-z.]*[a-z])?)*', '[-a-z.]*']],
    [/^(?:\.(?:a|a))*$/, ['(?:\\.(?:a|a))*']],
    [/^(?:,(?:a|ab|b))*$/, []],
    [/^(?:,?(?:a|ab|b))*$/, ['(?:,?(?:a|ab|b))*']],
    [/^(?:,[a-z]*[a-z]*)*$/, ['(?:,[a-z]*[a-z]*)*', '[a-z]*']],
    [/^(?:,[a-z]{0,61}[a-z]{0,61})*$/, ['(?:,[a-z]{0,61}[a-z]{0,61})*']],
    [/^(?:,[a-z]{2}[a-z]{0,3})*$/, []],
    [/^(?:,[a-z]{1,2}[a-z]{0,3})*$/, ['(?:,[a-z]{1,2}[a-z]{0,3})*']],
    [/^(?:\d+(?:\.\d*)?[ms])+$/, []],
    [/^(?:\d+(?:\.\d*)?(?:m|s|ms))+$/, []],
    [/^(?:\d+(?:\.\d*)?(?:m|s|ms)?)+$/, ['(?:\\d+(?:\\.\\d*)?(?:m|s|ms)?)+', '\\d+']],
    [/^(?:,(?:a*|b*))*$/, ['(?:,(?:a*|b*))*']],
  ];
  for (const [expression, parts] of cases) {
    test(`finds ${parts.length === 0 ? 'nothing' : parts.join(' and ')} in ${expression}`, () => {
      assert.deepEqual(superlinearParts(expression), parts);
    });
  }
});

/** The literals of all sources. Those that a program composes are below. */
describe('no regular expression over what others wrote takes more than linear time', () => {
  for (const file of SOURCES) {
    const literals = literalsIn(file);
    if (literals.length === 0) continue;
    test(
      file,
      attack('Hostile texts', 'a text that makes an expression of the sources slow', () => {
        for (const literal of literals) assert.deepEqual(superlinearParts(literal), [], `/${literal.source}/`);
        return literals.length;
      }),
    );
  }

  test(
    'those that modules compose when they are loaded, the catalogue and the detectors of secrets among them',
    attack('Hostile texts', 'a log that makes a pattern of the catalogue or a detector slow', async () => {
      const composed = await composedExpressions();
      assert.ok(composed.length > 230, `only ${composed.length} expressions were seen`);
      for (const expression of composed) assert.deepEqual(superlinearParts(expression), [], String(expression));
      return composed.length;
    }),
  );
});

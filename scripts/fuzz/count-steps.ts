/**
 * `node scripts/fuzz/count-steps.ts MODULE TARGET`: prints for each input of the array on standard input how many steps the target
 * takes. A process of its own, because only modules that are loaded after the counter are counted, and are slower then.
 */
import { text } from 'node:stream/consumers';
import { StepCounter } from '../../test/support/steps.ts';
import type { FuzzTarget } from './target.ts';

const [module = '', name = ''] = process.argv.slice(2);
await using counter = await StepCounter.start();
const { TARGETS } = (await import(module)) as { readonly TARGETS: readonly FuzzTarget[] };
const target = TARGETS.find((one) => one.name === name);
if (target === undefined) throw new Error(`${module} has no target ${name}`);
const inputs = JSON.parse(await text(process.stdin)) as readonly string[];
// What is loaded at the first use is not a cost of an input.
for (const input of inputs) await target.run(input).catch(() => undefined);
const steps: number[] = [];
for (const input of inputs) steps.push(await counter.count(() => target.run(input).catch(() => undefined)));
process.stdout.write(JSON.stringify(steps));

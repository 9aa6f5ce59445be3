import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { ReportEvent } from '@machineadm/status/event.ts';
import { configMapPatch, nodePatch, REPORT_BYTES } from '../../../../src/reporting/remote/apply-patch.ts';
import { reported } from '../events.ts';
import { FAILURE } from '../runs.ts';

const PLACE = { namespace: 'machines', name: 'node-1' };
const CONDITION = {
  type: 'machineadm.dev/BootstrapSucceeded',
  status: 'True',
  reason: 'Succeeded',
  message: '',
  lastTransitionTime: '2026-11-20T10:00:03.250Z',
} as const;
const WATCHED: ReportEvent = reported({ type: 'readinessChanged', conditions: [CONDITION] });
const CONCLUDED: ReportEvent = reported({
  type: 'concluded',
  conditions: [CONDITION],
  outcome: 'Failed',
  failure: FAILURE,
});

describe('the patch of a ConfigMap', () => {
  test('of a run has the conditions, in whole seconds, the event, the outcome and the reason', () => {
    const { path, contentType, body } = configMapPatch(CONCLUDED, PLACE);
    assert.equal(path, '/api/v1/namespaces/machines/configmaps/node-1?fieldManager=machineadm&force=true');
    assert.equal(contentType, 'application/apply-patch+yaml');
    const { data, ...object } = JSON.parse(body);
    assert.deepEqual(object, { apiVersion: 'v1', kind: 'ConfigMap', metadata: PLACE });
    assert.deepEqual(Object.keys(data), ['conditions.json', 'report.json', 'outcome', 'reason']);
    assert.deepEqual(JSON.parse(data['conditions.json']), [
      { ...CONDITION, lastTransitionTime: '2026-11-20T10:00:03Z' },
    ]);
    assert.deepEqual(JSON.parse(data['report.json']), CONCLUDED);
    assert.deepEqual([data.outcome, data.reason], ['Failed', 'SwapEnabled']);
  });

  test('of a run that has not ended says that it runs, and no reason', () => {
    const { data } = JSON.parse(configMapPatch(reported(), PLACE).body);
    assert.deepEqual([data.outcome, data.reason], ['Running', '']);
  });

  test('of a watch has fields of its own, of another manager', () => {
    const { path, body } = configMapPatch(WATCHED, PLACE);
    assert.match(path, /\?fieldManager=machineadm-watch&force=true$/);
    assert.deepEqual(Object.keys(JSON.parse(body).data), ['watch-conditions.json', 'watch-report.json']);
  });

  test('of a test event is checked, and not stored', () => {
    const { path } = configMapPatch({ ...CONCLUDED, test: true }, PLACE);
    assert.match(path, /\?fieldManager=machineadm&force=true&dryRun=All$/);
  });

  test('is small enough for ten thousand machines in one etcd of 2 GiB', () => {
    assert.ok(REPORT_BYTES * 10_000 < 2 ** 31 && REPORT_BYTES > 4_000);
  });
});

describe('the patch of a Node', () => {
  const annotationsOf = (event: ReportEvent) => JSON.parse(nodePatch(event, 'a').body).metadata.annotations;

  test('has its conditions with the time of the event, and who reported what', () => {
    const { path, body } = nodePatch(CONCLUDED, 'a/b');
    assert.equal(path, '/api/v1/nodes/a%2Fb/status?fieldManager=machineadm&force=true');
    const { metadata, ...object } = JSON.parse(body);
    assert.deepEqual(object, {
      apiVersion: 'v1',
      kind: 'Node',
      status: {
        conditions: [
          { ...CONDITION, lastTransitionTime: '2026-11-20T10:00:03Z', lastHeartbeatTime: '2026-11-20T10:00:01Z' },
        ],
      },
    });
    assert.equal(metadata.name, 'a/b');
    assert.deepEqual(Object.keys(metadata.annotations), ['machineadm.dev/report']);
    const { machine, document, agent, attempt } = CONCLUDED;
    assert.deepEqual(
      JSON.parse(metadata.annotations['machineadm.dev/report']),
      JSON.parse(
        JSON.stringify({
          id: CONCLUDED.id,
          time: CONCLUDED.time,
          agent: agent.version,
          machine: machine.name,
          document: document.sha256,
          attempt,
          outcome: 'Failed',
          reason: 'SwapEnabled',
          message: 'Swap is on.',
        }),
      ),
    );
  });

  test('of a watch has an annotation of its own', () => {
    assert.deepEqual(Object.keys(annotationsOf(WATCHED)), ['machineadm.dev/watch']);
    assert.match(nodePatch(WATCHED, 'a').path, /fieldManager=machineadm-watch/);
  });

  test('leaves a failure out that is too long for an annotation, and not a shorter one', () => {
    const told = (summary: string) =>
      JSON.parse(annotationsOf({ ...CONCLUDED, failure: { ...FAILURE, summary } })['machineadm.dev/report']);
    const room = 2048 - JSON.stringify(told('')).length;
    assert.equal(told('x'.repeat(room)).message.length, room);
    assert.equal('message' in told('x'.repeat(room + 1)), false);
    assert.equal('reason' in told('x'.repeat(room + 1)), false);
  });
});

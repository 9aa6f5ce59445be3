import type { LoadedDocument } from '@machineadm/document/loading/load.ts';
import { nodeIPs } from '@machineadm/kubeadm/arguments.ts';
import type { Facts } from '../host/seam/facts.ts';
import type { Host } from '../host/seam/host.ts';
import type { Reporter } from '../reporting/reporter.ts';
import { withHooks } from './after-hooks.ts';
import { performAttempts } from './attempts.ts';
import { watchBootstrap } from './bootstrap-watch.ts';
import { type Conclusion, conclude, overallDeadline } from './conclusion.ts';
import { requireLasting } from './durable-changes.ts';
import { pipelineFor } from './pipeline.ts';
import { preparedBy, readPrepared, writePrepared } from './prepared.ts';
import { canResume } from './reboot-resume.ts';
import { type RunRequest, scopeOf } from './run-check.ts';
import type { RunJournal } from './run-journal.ts';
import type { RunOptions, StepObserver } from './run-options.ts';
import { RunTrace } from './run-trace.ts';
import { runSteps } from './runner.ts';
import { afterFailedUpgrade, finishUpgrade } from './upgrade-end.ts';

/** The longest timer of Node: about 24 days. */
const LONGEST_TIMER_MS = 2 ** 31 - 1;

/** A run that holds the lock and reports. */
export interface OpenRun {
  readonly request: RunRequest;
  readonly runId: string;
  readonly facts: Facts;
  readonly host: Host;
  readonly reporter: Reporter;
}

/** Makes the changes: the host, Kubernetes, and what follows a bootstrap. */
export async function perform(run: OpenRun, document: LoadedDocument, journal: RunJournal): Promise<Conclusion> {
  const { request, host, reporter } = run;
  const { kubernetes, host: model } = document.model;
  const startedMs = Date.now();
  // An upgrade waits for pods to leave: its steps have limits, and --timeout.
  const limitMs =
    request.command === 'upgrade' ? LONGEST_TIMER_MS : (kubernetes?.timeouts.overallMs ?? LONGEST_TIMER_MS);
  const deadline = new AbortController();
  const timer = setTimeout(() => deadline.abort(overallDeadline(limitMs)), Math.min(limitMs, LONGEST_TIMER_MS));
  const made = new Map<string, readonly string[]>();
  const signal = AbortSignal.any([request.signal, deadline.signal]);
  const options = withHooks(optionsOf(run, document, journal, signal, made));
  const pipeline = pipelineFor(model.platform);
  const bootstrap = async () => {
    reporter.phase('Host');
    await runSteps(pipeline.host, options);
    // Before Kubernetes: a document that contradicts itself must not become a node.
    await requireLasting(pipeline.host, options);
    if (request.command === 'prepare') return;
    reporter.phase('Kubernetes');
    await runSteps(options.withPostponed(pipeline.kubernetes), options);
    await requireLasting([...pipeline.host, ...pipeline.kubernetes], options);
    await runSteps(pipeline.conclusion, options);
    if (request.command === 'upgrade') await finishUpgrade(host, journal);
  };
  try {
    const failed = await performAttempts(bootstrap, {
      retry: (kubernetes?.exec ?? kubernetes?.kubeadm)?.retry,
      signal,
      deadlineMs: startedMs + limitMs,
      bootstraps: (id) => pipeline.kubernetes.some((step) => step.id === id && step.bootstrapper !== undefined),
      conclude: (error, attemptStartedMs) => conclude(host, error, document, attemptStartedMs),
      reporter,
    });
    if (failed !== undefined)
      return request.command === 'upgrade' ? await afterFailedUpgrade(run, document, journal, failed) : failed;
    if (request.command === 'prepare') {
      const image = { document, facts: run.facts, agentVersion: request.agentVersion };
      await writePrepared(host, preparedBy(image, made, journal.state(), await readPrepared(host)));
      return { outcome: 'Succeeded', exit: 'Success' };
    }
  } finally {
    clearTimeout(timer);
  }
  return await afterBootstrap(run, document, options, startedMs);
}

function optionsOf(
  { request, host, facts, reporter }: OpenRun,
  { model }: LoadedDocument,
  journal: RunJournal,
  signal: AbortSignal,
  made: Map<string, readonly string[]>,
): RunOptions & { trace: RunTrace } {
  const observer: StepObserver = {
    stepStarted: (step) => reporter.stepStarted(step),
    stepDone(step, result) {
      reporter.stepDone(step, result);
      made.set(step, [...(made.get(step) ?? []), ...result.changes]);
    },
    waitingFor: (step, what) => reporter.waitingFor(step, what),
    warn: (message) => reporter.warn(message),
    handover: (handover) => reporter.handover(handover),
    output: (_step, source, line) => request.onOutput(source, line),
  };
  const mayReboot = canResume(request) && model.host.rebootPolicy === 'IfRequired';
  return {
    ...{ model, facts, host, journal, observer, scope: scopeOf(request), signal, mayReboot, trace: new RunTrace() },
    resolved: ({ kubernetes }) => reporter.nodeAddresses(nodeIPs(kubernetes?.node.kubelet.args ?? [])),
    watchBootstrap: (step, end, ended) => watchBootstrap(host, model, reporter, step.id, end, ended),
  };
}

/** The node works: failures from now on do not change that. */
async function afterBootstrap(
  { request, host, reporter }: OpenRun,
  document: LoadedDocument,
  options: RunOptions,
  startedMs: number,
): Promise<Conclusion> {
  reporter.bootstrapped();
  const { platform, hooks } = document.model.host;
  try {
    await runSteps(pipelineFor(platform).afterBootstrap, { ...options, signal: request.signal });
  } catch (error) {
    const ended = await conclude(host, error, document, startedMs);
    if (ended.outcome !== 'Failed') return { ...ended, afterHooks: 'Interrupted' };
    return { ...ended, outcome: 'Succeeded', exit: 'AfterHookFailed', afterHooks: 'Failed' };
  }
  reporter.phase('Concluding');
  const ran = hooks.afterBootstrap === undefined ? {} : { afterHooks: 'Succeeded' as const };
  return { outcome: 'Succeeded', exit: 'Success', ...ran };
}

import * as z from 'zod';
import { OUTPUT_API_VERSION } from '../../src/cli/output.ts';
import { OUTPUT_KINDS, type OutputKind } from '../../src/cli/output-kinds.ts';
import {
  change,
  check,
  count,
  diagnosis,
  digest,
  evidence,
  finding,
  findings,
  flag,
  optionalText,
  problem,
  problems,
  reason,
  replaced,
  signers,
  text,
  texts,
  verifiedFile,
  version,
} from './output-parts.ts';
import {
  failure,
  instant,
  machineState,
  milliseconds,
  probableCause,
  sinkReport,
  step,
  timeline,
} from './status-schema.ts';

/**
 * The fields of the objects that `-o json` prints, by kind, with descriptions. Readers must accept unknown fields: later
 * versions add some. test/slow/outputs.test.ts validates the output of every command with these schemas.
 */
const FIELDS: Readonly<Record<OutputKind, z.ZodRawShape>> = {
  Bundle: { path: text('the bundle that was written'), bytes: count('its size') },
  ConformanceReport: {
    contract: text('the version of the contract'),
    profile: z.enum(['host', 'kubernetes', 'windows']).describe('what the machine or image was checked as'),
    verdict: z.enum(['kept', 'broken', 'notProven']).describe('of every MUST that applies'),
    conforms: flag('true if the verdict is kept'),
    reason: z.exactOptional(reason).describe('of the exit code; see reasons.md'),
    os: z
      .looseObject({ id: text('ID of os-release'), version: text('VERSION_ID of os-release') })
      .describe('the operating system that was checked'),
    clauses: z
      .array(
        z.looseObject({
          id: text('the id in the contract, such as IMG-01'),
          level: z.enum(['MUST', 'SHOULD']).describe('the level of RFC 2119'),
          title: text('the clause'),
          state: z.enum(['kept', 'broken', 'notProven', 'notApplicable']).describe('the result'),
          text: text('the evidence'),
          remedy: optionalText('what to do'),
        }),
      )
      .describe('every clause that was checked'),
    findings: findings('the clauses in the form of all checks'),
  },
  Diagnosis: diagnosis,
  DoctorReport: {
    machineState: z.exactOptional(machineState).describe('what this machine is; absent where the journal is damaged'),
    verdict: z.exactOptional(z.looseObject(diagnosis)).describe('of the last run, or of the node'),
    findings: findings('the results of all checks'),
    checks: z.array(check).describe('the findings in the form of the first versions'),
    failed: count('how many checks failed'),
    warnings: count('how many checks warn'),
  },
  DocumentOrigins: {
    fields: z
      .array(
        z.looseObject({
          path: text('the field'),
          value: z.unknown().describe('its value, without secrets'),
          origin: text('file:line:column'),
        }),
      )
      .describe('every field of the merged document'),
    replaced,
  },
  Error: {
    error: z
      .looseObject({
        reason,
        summary: text('what failed, and why'),
        remedy: optionalText('what to do'),
        evidence: z.exactOptional(evidence).describe('the lines that prove it'),
      })
      .describe('why the command failed'),
    problems: problems('of the document, if that is the cause'),
  },
  Facts: {
    facts: z
      .looseObject({
        platform: z.enum(['linux', 'windows']).describe('the operating system'),
        architecture: text('of the processor, such as x64'),
        os: z
          .looseObject({ id: text('ID of os-release'), version: text('VERSION_ID of os-release') })
          .describe('the distribution'),
        kernel: text('the release of the kernel'),
        serviceManager: z.enum(['systemd', 'openrc', 'none', 'windows']).describe('the program that manages services'),
        hostname: text('the host name'),
        machineId: text('/etc/machine-id, or the MachineGuid of Windows'),
        bootId: text('the id of this boot'),
        cloudInstanceId: optionalText('the instance id that cloud-init recorded'),
        nodeAddresses: texts('the addresses of interfaces with a default route, which a Node of this machine can have'),
        addresses: z
          .exactOptional(
            z.array(
              z.looseObject({
                interface: text('the name of the interface'),
                address: text('the address'),
                prefix: z.int().describe('the length of the prefix'),
                state: z
                  .exactOptional(z.enum(['tentative', 'duplicate', 'deprecated', 'temporary']))
                  .describe('why no node can have it; absent if one can'),
              }),
            ),
          )
          .describe('the addresses of the interfaces that are up; absent on Windows'),
        interfaces: z
          .exactOptional(
            z.array(z.looseObject({ name: text('the name of the interface'), addresses: texts('its addresses') })),
          )
          .describe('the interfaces of the machine; absent on Windows'),
        isRoot: flag('whether the command ran as root'),
        containerd: version('containerd'),
        kubeadm: version('kubeadm'),
        kubelet: version('the kubelet'),
      })
      .describe('the facts that decisions depend on'),
    hardware: z
      .looseObject({
        system: z.record(z.string(), z.string()).describe('vendor, model and versions from the firmware'),
        cpu: z
          .looseObject({
            model: text('the model'),
            threads: count('logical processors'),
            isVirtual: flag('whether this is a virtual machine'),
          })
          .describe('the processors'),
        memory: z
          .looseObject({
            total: count('all memory'),
            available: count('available memory'),
            swap: count('all swap space'),
          })
          .describe('bytes'),
        disks: z
          .array(
            z.looseObject({
              name: text('the device'),
              model: optionalText('the model'),
              bytes: count('the size'),
            }),
          )
          .describe('the disks'),
        network: z
          .array(
            z.looseObject({
              name: text('the interface'),
              driver: optionalText('the driver'),
              mac: optionalText('the hardware address'),
              mtu: count('the largest packet'),
              state: text('up or down'),
            }),
          )
          .describe('the network interfaces'),
      })
      .describe('the hardware, without serial numbers'),
    variables: z
      .looseObject({ instanceData: texts("paths of cloud-init's instance data that have a value here") })
      .describe('sources for the variables of a document'),
  },
  FetchedFiles: {
    from: text('the location that served the files'),
    files: z
      .array(z.looseObject({ ...verifiedFile, changed: flag('false if the file was already there') }))
      .describe('the verified files'),
    signedBy: optionalText('the id of the key that signed the list'),
    warnings: problems('what does not fail the command, such as an expired key'),
  },
  HardeningAudit: {
    profiles: texts('the profiles that were checked'),
    node: z
      .looseObject({
        hostname: text('the host name'),
        role: optionalText('control-plane or worker; absent if this is no node'),
        kubelet: optionalText('the version of the kubelet'),
      })
      .describe('the machine'),
    exceptionsOf: z
      .enum(['document', 'record', 'nobody'])
      .describe('where the exceptions come from: the document, the record of the last provision, or nowhere'),
    summary: z
      .looseObject({
        pass: count('controls that pass'),
        fail: count('controls that fail'),
        exception: count('controls that are excepted'),
        notApplicable: count('controls that do not apply'),
      })
      .describe('how many controls have each state'),
    controls: z
      .array(
        z.looseObject({
          id: text('the id of the control'),
          state: z.enum(['pass', 'fail', 'exception', 'not-applicable']).describe('the result'),
          level: text('the level or severity in the benchmark'),
          title: text('the control'),
          evidence,
          reason: optionalText('why it is excepted or does not apply'),
        }),
      )
      .describe('every control of the profiles'),
    findings: findings('the controls in the form of all checks'),
  },
  ImageList: {
    airGapped: flag('true if no image comes from a registry'),
    images: z
      .array(
        z.looseObject({
          image: text('the name with its tag or digest'),
          for: texts('what needs it'),
          certain: flag('false if the kubeadm of the release, or the joined cluster, may name another one'),
        }),
      )
      .describe('the images that the document needs'),
    unknown: texts('what needs images that are not known'),
  },
  ImageReadiness: {
    ready: flag('true if nothing is missing and nothing is left'),
    reason: z.exactOptional(reason).describe('of the exit code; see reasons.md'),
    changes: z.array(change).describe('changes of the document that are not in effect'),
    findings: z
      .array(finding.extend({ what: text('its id'), why: text('its text') }))
      .describe('these changes, what should not be in the image, and what is missing'),
  },
  KubeadmConfiguration: {
    command: z.enum(['init', 'join']).describe('the command of kubeadm'),
    flags: texts('its arguments'),
    documents: z
      .array(
        z.looseObject({
          apiVersion: text('such as kubeadm.k8s.io/v1beta4'),
          kind: text('such as ClusterConfiguration'),
        }),
      )
      .describe('the configuration, with all its other fields and without secrets'),
    files: z
      .array(z.looseObject({ path: text('where it is written'), content: text('its content, without secrets') }))
      .describe('other files for kubeadm'),
    unresolved: texts('fields whose values only the machine has'),
  },
  Plan: {
    changes: z.array(change).describe('what provision would change, in order'),
    remarks: z
      .array(z.looseObject({ step: text('the step'), message: text('the remark') }))
      .describe('other facts about a step: work that is not repeated, or that is not known yet'),
    problems: z
      .array(problem.extend({ step: text('the step that lacks it'), code: reason }))
      .describe('what steps need and do not find: provision refuses to begin'),
    findings: findings('everything that the preflight found: problems, warnings, what could not be checked'),
    refusal: z
      .exactOptional(
        z.looseObject({
          reason,
          summary: text('what is refused, and why'),
          remedy: text('what to do'),
          exitCode: z.int().describe('the exit code of provision, and of plan'),
        }),
      )
      .describe('the error of provision while there are problems'),
    restarts: texts('services that are restarted'),
    reboots: flag('whether a change reboots the machine'),
    warnings: problems('of the document'),
    replaced,
  },
  ReportFlush: { reports: z.array(sinkReport).describe('the remote sinks') },
  ReportTest: {
    sinks: z
      .array(
        z.looseObject({
          sink: text('the name of the sink'),
          type: text('the type of the sink'),
          target: text('where it sends to, without credentials'),
          result: z.enum(['Taken', 'Refused', 'Failed']).describe('what became of the test event'),
          durationMs: milliseconds.describe('how long the delivery took'),
          message: optionalText('the error'),
        }),
      )
      .describe('the remote sinks'),
  },
  ResetResult: {
    done: flag('false for --dry-run, and if it was not confirmed'),
    actions: texts('what was done, or would be'),
  },
  ResidueAudit: {
    residues: z
      .array(
        z.looseObject({
          path: text('the file'),
          tool: text('the program that left it'),
          mode: text('its permissions in octal digits'),
          uid: count('its owner'),
          gid: count('its group'),
          worldReadable: flag('whether every user may read it'),
          secrets: texts('the names of the secrets in it'),
          forms: texts('how they are written there: plain, base64 or gzip'),
          state: z.enum(['Found', 'Scrubbed', 'Kept']).describe('what became of it'),
          why: optionalText('why it was kept'),
        }),
      )
      .describe('files with copies of secrets'),
    findings: findings('residues, and what was skipped, in the form of all checks'),
    searched: texts('where the command searched'),
    skipped: z
      .array(z.looseObject({ what: text('the file or place'), why: text('why it was not searched') }))
      .describe('what could not be searched'),
  },
  RunEvent: {
    type: z.enum(['started', 'step', 'waiting', 'warning', 'concluded']).describe('what happened'),
    time: instant,
    runId: text('the id of the run'),
    phase: text('the phase of the run'),
    attempt: z.exactOptional(count('the number')).describe('how many runs this instance has seen'),
    step: z.exactOptional(step).describe('of the type step'),
    stepId: optionalText('of the type waiting'),
    waitingFor: optionalText('of the type waiting: what the run waits for'),
    probableCause: z
      .exactOptional(probableCause)
      .describe('of the type warning: what the bootstrapper probably waits for in vain'),
    message: optionalText('of the type warning'),
    outcome: optionalText('of the type concluded'),
    exitCode: z.exactOptional(z.int().min(0).max(255)).describe('of the type concluded; see exit-codes.md'),
    failure: z.exactOptional(failure).describe('of the type concluded: why the run failed'),
  },
  Timeline: { runId: text('the id of the run'), timeline },
  TrustedKeys: {
    name: optionalText('the name in the root; without a root, the keys are those of plain files'),
    version: z.exactOptional(z.int()).describe('the version of the root'),
    createdAt: optionalText('when the root was made'),
    expiresAt: optionalText('when the root expires'),
    lists: signers.describe('who must sign lists of releases and directories'),
    root: z.exactOptional(signers).describe('who must sign the next root'),
    revokedKeys: texts('the ids of revoked keys'),
    minimumVersion: optionalText('older releases are refused'),
    warnings: texts('what does not fail the command, such as a wrong clock'),
  },
  Validation: {
    valid: flag('whether the document is valid'),
    documentVersion: optionalText('the apiVersion of the document'),
    sha256: z.exactOptional(digest('SHA-256')).describe('of the merged document'),
    reason: z.exactOptional(reason).describe('of the exit code; see reasons.md'),
    problems: problems('the mistakes'),
    warnings: problems('what is valid and probably not meant'),
    unresolved: z.exactOptional(z.array(z.string())).describe('fields that depend on variables of the machine'),
    replaced: z.exactOptional(replaced).describe('values that a later source of the document replaced'),
  },
  Verification: {
    verified: z.literal(true).describe('always true: a file that is not verified is an error'),
    files: z
      .array(
        z.looseObject({
          ...verifiedFile,
          by: text('what proves it: a list, a signature or the given digest'),
          warnings: texts('what does not fail the command, such as an expired key'),
        }),
      )
      .describe('the verified files'),
  },
  Version: {
    version: text('the version of machineadm'),
    commit: text('the commit it was built from'),
    node: text('the version of the embedded Node'),
    documentVersions: texts('each apiVersion of a document that it reads'),
  },
};

/** The JSON Schema of each kind, by its file below `contract/`. */
export function outputSchemas(): ReadonlyMap<string, object> {
  return new Map(
    OUTPUT_KINDS.map((kind) => {
      const schema = z.looseObject({
        apiVersion: z.literal(OUTPUT_API_VERSION).describe('the version of this format'),
        kind: z.literal(kind).describe('the kind of this object'),
        ...FIELDS[kind],
      });
      const $id = `https://machineadm.dev/schema/output/v1/${kind}.json`;
      return [`output/${kind}.json`, { $id, ...z.toJSONSchema(schema) }];
    }),
  );
}

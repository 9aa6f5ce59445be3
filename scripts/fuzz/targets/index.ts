import type { FuzzTarget } from '../target.ts';
import { accepted } from './accepted.ts';
import { answers } from './answers.ts';
import { controlPlane } from './control-plane.ts';
import { documentJson, documentYaml, merge, variables } from './document.ts';
import { documents } from './documents.ts';
import { life } from './life.ts';
import { accounts, journalctl, kubeadmOutput, storage, system, units } from './machine.ts';
import { activeDirectory, archives, certificates, unpacked } from './materials.ts';
import { criReplies, http2Frames, httpAnswers, kubeconfig, metadata } from './network.ts';
import { journal, kept, prepared, spool, status, summary } from './state.ts';
import { convertedYaml, log, templates, toml } from './texts.ts';
import { directoryList, releaseManifest, signatures, trustedKeys, trustMemory, trustRoot } from './trust.ts';
import { encodings, ignition, objects, userData } from './user-data.ts';
import { windows } from './windows.ts';

/** Every parser that reads untrusted input. A new parser needs a target with seeds in this directory, and a line here. */
export const TARGETS: readonly FuzzTarget[] = [
  documentYaml,
  documentJson,
  merge,
  variables,
  accepted,
  templates,
  userData,
  ignition,
  objects,
  encodings,
  convertedYaml,
  toml,
  log,
  journal,
  status,
  summary,
  spool,
  prepared,
  kept,
  releaseManifest,
  directoryList,
  signatures,
  trustMemory,
  trustRoot,
  trustedKeys,
  criReplies,
  http2Frames,
  httpAnswers,
  metadata,
  answers,
  kubeconfig,
  controlPlane,
  accounts,
  storage,
  system,
  units,
  journalctl,
  kubeadmOutput,
  certificates,
  archives,
  unpacked,
  activeDirectory,
  windows,
  life,
  documents,
];

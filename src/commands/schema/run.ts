import { exitCode } from '@machineadm/document/outcomes/exit-codes.ts';
import { jsonSchema } from '@machineadm/document/versions/json-schema.ts';
import event from '../../../contract/event.v1.schema.json' with { type: 'json' };
import bundle from '../../../contract/output/Bundle.json' with { type: 'json' };
import conformanceReport from '../../../contract/output/ConformanceReport.json' with { type: 'json' };
import diagnosis from '../../../contract/output/Diagnosis.json' with { type: 'json' };
import doctorReport from '../../../contract/output/DoctorReport.json' with { type: 'json' };
import documentOrigins from '../../../contract/output/DocumentOrigins.json' with { type: 'json' };
import error from '../../../contract/output/Error.json' with { type: 'json' };
import facts from '../../../contract/output/Facts.json' with { type: 'json' };
import fetchedFiles from '../../../contract/output/FetchedFiles.json' with { type: 'json' };
import hardeningAudit from '../../../contract/output/HardeningAudit.json' with { type: 'json' };
import imageList from '../../../contract/output/ImageList.json' with { type: 'json' };
import imageReadiness from '../../../contract/output/ImageReadiness.json' with { type: 'json' };
import kubeadmConfiguration from '../../../contract/output/KubeadmConfiguration.json' with { type: 'json' };
import plan from '../../../contract/output/Plan.json' with { type: 'json' };
import reportFlush from '../../../contract/output/ReportFlush.json' with { type: 'json' };
import reportTest from '../../../contract/output/ReportTest.json' with { type: 'json' };
import resetResult from '../../../contract/output/ResetResult.json' with { type: 'json' };
import residueAudit from '../../../contract/output/ResidueAudit.json' with { type: 'json' };
import runEvent from '../../../contract/output/RunEvent.json' with { type: 'json' };
import timeline from '../../../contract/output/Timeline.json' with { type: 'json' };
import trustedKeys from '../../../contract/output/TrustedKeys.json' with { type: 'json' };
import validation from '../../../contract/output/Validation.json' with { type: 'json' };
import verification from '../../../contract/output/Verification.json' with { type: 'json' };
import version from '../../../contract/output/Version.json' with { type: 'json' };
import status from '../../../contract/status.v1.schema.json' with { type: 'json' };
import summary from '../../../contract/summary.v1.schema.json' with { type: 'json' };
import { printText } from '../../cli/output.ts';
import type { OutputKind } from '../../cli/output-kinds.ts';

export interface SchemaOptions {
  readonly kind?: string;
  /** A directory of documents; true: the current one. */
  readonly editor?: string | true;
}

/** `machineadm schema`: prints the JSON Schema of the document or of a result, or writes the one for editors. */
export async function schema({ kind, editor }: SchemaOptions): Promise<number> {
  if (editor !== undefined) {
    const { writeEditorSchema } = await import('./editor.ts');
    return writeEditorSchema(editor === true ? '.' : editor);
  }
  const schemas: Readonly<Record<string, object>> = {
    ...OUTPUT_SCHEMAS,
    BootstrapStatus: status,
    BootstrapSummary: summary,
    BootstrapEvent: event,
  };
  const wanted = kind === undefined || kind === 'MachineBootstrap' ? jsonSchema() : schemas[kind];
  printText(JSON.stringify(wanted, undefined, 2));
  return exitCode('Success');
}

/** The published JSON Schemas of results, written by `npm run generate`. */
export const OUTPUT_SCHEMAS: Readonly<Record<OutputKind, object>> = {
  Bundle: bundle,
  ConformanceReport: conformanceReport,
  Diagnosis: diagnosis,
  DoctorReport: doctorReport,
  DocumentOrigins: documentOrigins,
  Error: error,
  Facts: facts,
  FetchedFiles: fetchedFiles,
  HardeningAudit: hardeningAudit,
  ImageList: imageList,
  ImageReadiness: imageReadiness,
  KubeadmConfiguration: kubeadmConfiguration,
  Plan: plan,
  ReportFlush: reportFlush,
  ReportTest: reportTest,
  ResetResult: resetResult,
  ResidueAudit: residueAudit,
  RunEvent: runEvent,
  Timeline: timeline,
  TrustedKeys: trustedKeys,
  Validation: validation,
  Verification: verification,
  Version: version,
};

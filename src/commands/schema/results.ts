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
import type { OutputKind } from '../../cli/output-kinds.ts';

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

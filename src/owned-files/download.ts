import { createHash } from 'node:crypto';
import type { FileContent } from '@machineadm/document/model/index.ts';
import { MachineadmError } from '@machineadm/document/outcomes/errors.ts';
import { redactedRequest } from '../host/http/client.ts';
import { HttpError } from '../host/http/error.ts';
import { retry } from '../host/http/retry.ts';
import type { Host, StreamedFile } from '../host/seam/host.ts';
import type { HttpAnswer } from '../host/seam/http.ts';

const MIB = 1024 * 1024;

/** The largest file that a document can download. Images belong into archives. */
const DOWNLOAD_LIMIT_BYTES = 512 * MIB;
const RETRY_BUDGET_MS = 60_000;

export interface DownloadLimits {
  readonly bytes: number;
  /** The time after the first attempt in which further attempts begin. */
  readonly retryBudgetMs: number;
}

const LIMITS: DownloadLimits = { bytes: DOWNLOAD_LIMIT_BYTES, retryBudgetMs: RETRY_BUDGET_MS };

/**
 * Downloads a file to its place without holding it in memory. Its digest is checked before it replaces anything: what
 * was there stays until the last byte has proved right. Throws `DownloadFailed`, `SecretUnavailable` for a header, and
 * what writing throws.
 */
export async function download(
  host: Host,
  content: Extract<FileContent, { readonly kind: 'http' }>,
  file: Omit<StreamedFile, 'content'>,
  signal: AbortSignal,
  limits: DownloadLimits = LIMITS,
): Promise<void> {
  const what = redactedRequest('GET', content.url);
  const headers: Record<string, string> = {};
  for (const [name, value] of Object.entries(content.headers)) headers[name] = (await host.secret(value)).reveal();
  const client = await host.http();
  try {
    await retry(
      async () => {
        const answer = await client.request({ url: content.url, headers, signal });
        if (answer.status !== 200) {
          await answer.discard();
          const again = answer.status === 429 || answer.status >= 500;
          throw new HttpError(again ? 'connection' : 'protocol', what, `the server answers HTTP ${answer.status}`);
        }
        await host.writeFile({ ...file, content: checked(answer, content.sha256, what, limits.bytes) });
      },
      {
        budgetMs: limits.retryBudgetMs,
        signal,
        isRetryable: (error) => error instanceof HttpError && error.retryable && !signal.aborted,
      },
    );
  } catch (error) {
    if (!(error instanceof HttpError)) throw error;
    throw failed(file.path, what, error.evidence[0]?.text ?? error.message, error);
  }
}

async function* checked(
  answer: HttpAnswer,
  sha256: string,
  what: string,
  limitBytes: number,
): AsyncGenerator<Uint8Array> {
  const digest = createHash('sha256');
  let length = 0;
  for await (const piece of answer.body) {
    length += piece.length;
    if (length > limitBytes) throw new HttpError('protocol', what, `it is larger than ${limitBytes / MIB} MiB`);
    digest.update(piece);
    yield piece;
  }
  const found = digest.digest('hex');
  if (found === sha256) return;
  throw new HttpError('protocol', what, `${length} bytes came with the SHA-256 ${found}, not ${sha256}`);
}

function failed(path: string, what: string, why: string, cause: HttpError): MachineadmError {
  return new MachineadmError({
    reason: 'DownloadFailed',
    summary: `${path} could not be downloaded: ${what}: ${why}`,
    remedy: `${cause.remedy} If the digest differs, the file at this location has changed since the document was written.`,
    evidence: [{ source: what, text: why }],
    retryable: cause.retryable,
    cause,
  });
}

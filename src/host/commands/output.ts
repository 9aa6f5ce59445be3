import { StringDecoder } from 'node:string_decoder';

/** A line is passed on unfinished after this many characters, so that a child without newlines cannot fill memory. */
const LONGEST_PIECE = 16 * 1024 * 1024;

/** Cuts a stream of bytes into lines of any length, without their line end. */
export class LineSplitter {
  readonly #line: (line: string) => void;
  readonly #decoder = new StringDecoder('utf8');
  #pieces: string[] = [];
  #length = 0;

  constructor(line: (line: string) => void) {
    this.#line = line;
  }

  write(bytes: Uint8Array): void {
    this.#add(this.#decoder.write(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)));
  }

  /** Passes on a last line without a line end. */
  end(): void {
    this.#add(this.#decoder.end());
    if (this.#length > 0) this.#emit();
  }

  #add(text: string): void {
    let start = 0;
    // Searches only the new text: a line of a megabyte that arrives in pieces of 64 KiB must not take quadratic time.
    for (let end = text.indexOf('\n'); end !== -1; end = text.indexOf('\n', start)) {
      this.#keep(text.slice(start, end));
      this.#emit();
      start = end + 1;
    }
    this.#keep(text.slice(start));
    if (this.#length > LONGEST_PIECE) this.#emit();
  }

  #keep(piece: string): void {
    if (piece === '') return;
    this.#pieces.push(piece);
    this.#length += piece.length;
  }

  #emit(): void {
    const line = this.#pieces.join('');
    this.#pieces = [];
    this.#length = 0;
    this.#line(line.endsWith('\r') ? line.slice(0, -1) : line);
  }
}

/** Keeps the last bytes of a stream. */
export class Tail {
  readonly #limit: number;
  #pieces: Uint8Array[] = [];
  #length = 0;

  constructor(limit: number) {
    this.#limit = limit;
  }

  write(bytes: Uint8Array): void {
    this.#pieces.push(bytes);
    this.#length += bytes.length;
    for (let first = this.#pieces[0]; first !== undefined; first = this.#pieces[0]) {
      if (this.#length - first.length < this.#limit) return;
      this.#pieces.shift();
      this.#length -= first.length;
    }
  }

  /** At most the last `limit` bytes as text; without a character that was cut at the start. */
  text(): string {
    const all = Buffer.concat(this.#pieces);
    let start = Math.max(0, all.length - this.#limit);
    // UTF-8 continuation bytes are 10xxxxxx.
    while (start > 0 && start < all.length && ((all[start] ?? 0) & 0xc0) === 0x80) start += 1;
    return all.subarray(start).toString('utf8');
  }
}

/**
 * Hides the body of a private key in a stream of lines: `redact` sees one line at a time and recognises only a whole
 * block. Pass it every line of one stream in order.
 */
export function keyBlockHider(): (line: string) => string {
  let inside = false;
  return (line) => {
    const wasInside = inside;
    if (/-----BEGIN [A-Z ]*PRIVATE KEY-----/.test(line)) inside = true;
    if (/-----END [A-Z ]*PRIVATE KEY-----/.test(line)) inside = false;
    return wasInside || inside ? '[redacted]' : line;
  };
}

/**
 * A scalar as written, where JavaScript would change it: 18446744073692774399 loses digits, 1.0 its type, 1e21 and .inf
 * their form. Fields of other programs (the kernel, containerd, the kubelet) keep it. In a TOML file that is merged
 * into, dates are kept so as well.
 */
export class Verbatim {
  /** `0x10`, `0o17`, `+1`, `.5`, `-.inf`, `1979-05-27`. */
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }

  toString(): string {
    return this.text;
  }

  /** The number itself in JSON, with every digit; as text if JSON cannot represent it. */
  toJSON(): unknown {
    const json = wholeNumber(this.text)?.toString() ?? decimal(this.text);
    const raw: unknown = Reflect.get(JSON, 'rawJSON');
    if (json === undefined) return this.text;
    return typeof raw === 'function' ? (Reflect.apply(raw, JSON, [json]) as unknown) : Number(json);
  }
}

const WHOLE = /^[-+]?\d+$|^0o[0-7]+$|^0x[0-9a-fA-F]+$/;

/** The integer in a text without point and exponent. */
export function wholeNumber(text: string): bigint | undefined {
  if (!WHOLE.test(text)) return undefined;
  return text.startsWith('-') ? -BigInt(text.slice(1)) : BigInt(text.replace('+', ''));
}

/** A number with point or exponent in the format of JSON and TOML; undefined if it is not finite. */
export function decimal(text: string): string | undefined {
  const [, sign, whole = '', fraction = '', exponent = ''] =
    /^([-+]?)(\d*)(?:\.(\d*))?((?:[eE][-+]?\d+)?)$/.exec(text) ?? [];
  if (sign === undefined || whole + fraction === '') return undefined;
  const digits = whole.replace(/^0+(?=\d)/, '') || '0';
  const point = text.includes('.') ? `.${fraction || '0'}` : '';
  return `${sign === '-' ? '-' : ''}${digits}${point}${exponent}`;
}

/** The value without loss: a JavaScript number if that is sufficient. */
export function exactly(text: string, value: number): number | Verbatim {
  const whole = wholeNumber(text);
  const isKept = whole === undefined ? String(value) === text : Number.isSafeInteger(value);
  return isKept ? value + 0 : new Verbatim(text);
}

/** Whether a numeric field can represent the value without loss. */
export function isFaithful(text: string, value: number): boolean {
  return wholeNumber(text) === undefined ? Number.isFinite(value) : Number.isSafeInteger(value);
}

/** How the library yaml writes one: for its `customTags`. */
export const VERBATIM_TAG = {
  tag: 'tag:yaml.org,2002:float',
  default: true,
  identify: (value: unknown): boolean => value instanceof Verbatim,
  resolve: (text: string): unknown => text,
  stringify: ({ value }: { readonly value: unknown }): string => String(value),
} as const;

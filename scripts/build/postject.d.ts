declare module 'postject' {
  /** Writes `resourceData` into the executable `filename`, in place (postject dist/api.js). */
  export function inject(
    filename: string,
    resourceName: string,
    resourceData: Buffer,
    options: { readonly sentinelFuse: string },
  ): Promise<void>;
}

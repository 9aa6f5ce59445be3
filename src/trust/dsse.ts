/** The signed form of a DSSE payload: the pre-authentication encoding of secure-systems-lab/dsse protocol.md. */
export function preAuthentication(payload: Uint8Array, payloadType: string): Buffer {
  return Buffer.concat([Buffer.from(`DSSEv1 ${payloadType.length} ${payloadType} ${payload.length} `), payload]);
}

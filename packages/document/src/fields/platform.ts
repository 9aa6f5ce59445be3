/** The operating systems that a document can be for. */
export type Platform = 'linux' | 'windows';

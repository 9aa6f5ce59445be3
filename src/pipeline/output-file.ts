export { makeOutputDirectory, writeOutputFile } from '../host/files/output-file.ts';

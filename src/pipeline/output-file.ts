export { makeOutputDirectory, writeOutputFile } from '../host/output-file.ts';

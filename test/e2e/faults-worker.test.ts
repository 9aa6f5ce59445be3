import { driveFaults } from '../support/faults/drive.ts';

driveFaults('worker');

import { driveFaults } from '../support/faults/drive.ts';

driveFaults('control plane');

import { ANSWER_FAULTS } from "./answer-faults.ts";
import { BODY_FAULTS } from "./body-faults.ts";
import type { FaultClass } from "./fault-class.ts";
import { LINK_FAULTS } from "./link-faults.ts";
import { canMount, DISK_FAULTS, MACHINE_FAULTS } from "./machine-faults.ts";
import { canCutPower, POWER_FAULTS } from "./power-faults.ts";
import { PROCESS_FAULTS } from "./process-faults.ts";
import { STORE_FAULTS } from "./store-faults.ts";

/** Every class of faults that the transfer engine is tried with. */
export const FAULT_CLASSES: readonly FaultClass[] = [
  ...LINK_FAULTS,
  ...BODY_FAULTS,
  ...ANSWER_FAULTS,
  ...STORE_FAULTS,
  ...MACHINE_FAULTS,
  ...PROCESS_FAULTS,
  ...(canMount() ? DISK_FAULTS : []),
  ...(canCutPower() ? POWER_FAULTS : []),
];

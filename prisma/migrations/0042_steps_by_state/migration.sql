-- Finds the complete checkpoints of an epoch by their steps, past those in the trash.
CREATE INDEX "Checkpoint_run_state_writerEpoch_step_idx" ON "Checkpoint"("run", "state", "writerEpoch", "step");

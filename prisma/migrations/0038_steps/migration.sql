-- Finds a step over all runs: newest first.
CREATE INDEX "Checkpoint_step_capturedAt_idx" ON "Checkpoint"("step", "capturedAt");

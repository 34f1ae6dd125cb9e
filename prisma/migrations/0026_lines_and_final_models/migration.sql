-- Runs that a person started from an earlier step, final models beside checkpoints, and lost work that is reckoned.
ALTER TABLE "Epoch" ADD COLUMN "isChosen" BOOLEAN NOT NULL DEFAULT false;
ALTER TABLE "Loss" ADD COLUMN "isEstimated" BOOLEAN NOT NULL DEFAULT false;
ALTER TABLE "Checkpoint" ADD COLUMN "role" TEXT;
ALTER TABLE "Checkpoint" ADD COLUMN "abandonedAt" DATETIME;

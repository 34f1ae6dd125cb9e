-- Runs that a person started from an earlier step, and final models beside checkpoints.
ALTER TABLE "Epoch" ADD COLUMN "isChosen" BOOLEAN NOT NULL DEFAULT false;
ALTER TABLE "Checkpoint" ADD COLUMN "role" TEXT;
ALTER TABLE "Checkpoint" ADD COLUMN "abandonedAt" DATETIME;

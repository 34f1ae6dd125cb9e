-- Where a checkpoint lay in the watched folder of its run.
ALTER TABLE "Checkpoint" ADD COLUMN "place" TEXT;

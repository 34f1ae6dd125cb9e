-- Why a checkpoint may not be whole: nothing goes on from such a one by itself.
ALTER TABLE "Checkpoint" ADD COLUMN "doubt" TEXT;

/*
 * plan_join_servers.c
 *		Joins of lake tables that belong to different servers.
 *
 * The planner asks a wrapper only about joins within one server, as seen by
 * one user.  For the wrapper's own sake that need not be: the lake's files are
 * read here anyway.  So hooks ask about the other joins.
 */
#include "postgres.h"

#include "optimizer/paths.h"
#include "optimizer/planner.h"

#include "fdw/fdw.h"
#include "fdw/plan.h"

static set_join_pathlist_hook_type previous_join_hook = NULL;
static create_upper_paths_hook_type previous_upper_hook = NULL;

static void
join_hook(PlannerInfo *root, RelOptInfo *joinrel, RelOptInfo *outerrel, RelOptInfo *innerrel, JoinType jointype,
		  JoinPathExtraData *extra)
{
	if (previous_join_hook != NULL)
		previous_join_hook(root, joinrel, outerrel, innerrel, jointype, extra);
	if (joinrel->fdwroutine == NULL)
		streamhouseGetForeignJoinPaths(root, joinrel, outerrel, innerrel, jointype, extra);
}

/* What is grouped belongs to the server of the join's first relation: it is that one's scan. */
static void
upper_hook(PlannerInfo *root, UpperRelationKind stage, RelOptInfo *input_rel, RelOptInfo *output_rel, void *extra)
{
	if (previous_upper_hook != NULL)
		previous_upper_hook(root, stage, input_rel, output_rel, extra);
	if (stage == UPPERREL_GROUP_AGG && input_rel->reloptkind == RELOPT_JOINREL && input_rel->fdwroutine == NULL &&
		input_rel->fdw_private != NULL && output_rel->fdwroutine == NULL)
	{
		const JoinPlan *plan = input_rel->fdw_private;
		const RelOptInfo *first = ((const JoinMember *) linitial(plan->members))->rel;

		output_rel->serverid = first->serverid;
		output_rel->userid = first->userid;
		output_rel->fdwroutine = first->fdwroutine;
		streamhouseGetForeignUpperPaths(root, stage, input_rel, output_rel, extra);
	}
}

void
join_servers_init(void)
{
	previous_join_hook = set_join_pathlist_hook;
	set_join_pathlist_hook = join_hook;
	previous_upper_hook = create_upper_paths_hook;
	create_upper_paths_hook = upper_hook;
}

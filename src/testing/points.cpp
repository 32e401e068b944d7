// SQL functions for the points of test builds.
//
// No install script declares these functions: tests do (test/t/HipqPoints.pm).
#include "pg/point.hpp"

#ifdef HIPQ_POINTS

#include "pg/arguments.hpp"

HIPQ_FUNCTION(hipq_test_arm_point)
{
    const hipq::pg::Arguments arguments(fcinfo);
    hipq::pg::arm_point(arguments.text({0, "name"}), arguments.text({1, "action"}),
                        arguments.integer({2, "pass"}));
    return hipq::pg::return_void();
}

HIPQ_FUNCTION(hipq_test_reset_points)
{
    hipq::pg::reset_points();
    return hipq::pg::return_void();
}

// OUT name text, reached bigint, fired bigint, armed text, waiting integer
HIPQ_FUNCTION(hipq_test_list_points)
{
    hipq::pg::ResultSet result(fcinfo);
    for (const hipq::pg::PointState &point : hipq::pg::list_points())
        result.add(point.name, point.reached, point.fired, point.armed, point.waiting);
    return hipq::pg::return_void();
}

#endif

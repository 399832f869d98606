// gpud/container/json_impl.cpp - Boost.JSON's own functions, compiled once for all.
#include <boost/json/src.hpp>

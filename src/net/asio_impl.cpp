// net/asio_impl.cpp - Asio's own functions, compiled once for all
// (BOOST_ASIO_SEPARATE_COMPILATION).
#include <boost/asio/impl/src.hpp>
